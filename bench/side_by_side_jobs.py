"""Everyday programs of several processes, for side_by_side.py: side_by_side_jobs.py NAME [START METHOD]."""
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MEGABYTE = 10**6


def grid_search():
    """A grid search of scikit-learn on two workers of loky."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV

    data, labels = make_classification(40_000, 60, random_state=1)
    search = GridSearchCV(RandomForestClassifier(random_state=1), {"max_depth": [6, 9], "n_estimators": [10, 20]}, cv=3, n_jobs=2)
    search.fit(data, labels)
    print(search.best_params_)


def data_loader():
    """A model that is trained by PyTorch with a DataLoader of two workers."""
    import torch

    class Images(torch.utils.data.Dataset):
        def __init__(self):
            self.images = torch.rand(4000, 3 * 64 * 64)

        def __len__(self):
            return len(self.images)

        def __getitem__(self, number):
            return self.images[number].sqrt(), number % 10

    model = torch.nn.Sequential(torch.nn.Linear(3 * 64 * 64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        for images, labels in torch.utils.data.DataLoader(Images(), batch_size=64, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
    print(loss.item())


def hold(megabytes):
    """Work of a pool: so much memory, and half a second of the CPU."""
    block = bytearray(b"1") * (megabytes * MEGABYTE)
    begin = time.process_time()
    while time.process_time() - begin < 0.5:
        pass
    return len(block)


def pool(method):
    """A pool of three workers beside a parent with 300 MB."""
    shared = bytearray(b"1") * (300 * MEGABYTE)
    with multiprocessing.get_context(method).Pool(3) as workers:
        print(sum(workers.map(hold, [80, 120, 100, 60, 90, 110], chunksize=1)) + len(shared))


TESTS = """
import pytest, time
@pytest.mark.parametrize("megabytes", [20, 40, 60, 80, 100, 120, 140, 160])
def test_memory(megabytes):
    block = bytearray(b"1") * (megabytes * 10**6)
    time.sleep(0.4)
    assert block
"""


def xdist():
    """Tests on two workers of pytest-xdist."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "test_memory.py").write_text(TESTS)
        sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", folder]))


CELLS = ["import subprocess, sys, time\nblock = bytearray(b'1') * 150_000_000",
         "other = bytearray(b'1') * 200_000_000; time.sleep(0.5); del other",
         "subprocess.run([sys.executable, '-c', \"b = bytearray(b'1') * 120_000_000; import time; time.sleep(0.7)\"])", "len(block)"]


def notebook():
    """A notebook under nbclient; one of its cells starts a process."""
    import nbclient
    import nbformat

    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(document, timeout=60, kernel_name="python3").execute()
    print(document.cells[-1].outputs[0].data)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    globals()[sys.argv[1]](*sys.argv[2:])
