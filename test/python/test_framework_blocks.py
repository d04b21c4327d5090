"""What the real frameworks name by themselves becomes blocks of a program that nobody changed, where they are installed (make
test-frameworks does that)."""
import importlib.util
import sqlite3
import subprocess
import sys

import pytest

TORCH = """
import torch
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 1))
for x, y in torch.utils.data.DataLoader(data, batch_size=16):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
with torch.autograd.profiler.record_function("mine"): pass
print(loss.item())
"""

LIGHTNING = """
import logging, torch, warnings
from lightning.pytorch import LightningModule, Trainer
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, number): return ((self.layer(batch[0]) - batch[1]) ** 2).mean()
    def configure_optimizers(self): return torch.optim.Adam(self.parameters())
data = torch.utils.data.TensorDataset(torch.rand(64, 4), torch.rand(64, 1))
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
Trainer(max_epochs=2, accelerator="cpu", **quiet).fit(Model(), torch.utils.data.DataLoader(data, batch_size=16))
"""

TENSORFLOW = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow
with tensorflow.profiler.experimental.Trace("mine", step_num=1):
    tensorflow.function(lambda x: x + 1)(tensorflow.ones(3))
"""


@pytest.fixture
def blocks(gpu_tracker, tmp_path):
    """blocks("torch", TORCH): what the program prints, and (begun, ended) by name."""

    def run(source, text):
        if not importlib.util.find_spec(source):
            pytest.skip(f"{source} is not installed")
        (tmp_path / "train.py").write_text(text)
        words = ["run", "--quiet", "--no-history", f"--blocks-from={source}", "--tf=run.sqlite", "--", sys.executable, "train.py"]
        done = subprocess.run([gpu_tracker, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and "blocks-from" not in done.stderr, done.stderr
        with sqlite3.connect(tmp_path / "run.sqlite") as file:
            counted = "SELECT code_block_name, sum(position = 0), sum(position = 1) FROM blocks GROUP BY 1"
            return done.stdout, {name: counts for name, *counts in file.execute(counted)}

    return run


def test_torch(blocks, tmp_path):
    printed, found = blocks("torch", TORCH)
    assert found == {"Optimizer.step#Adam.step": [4, 4], "Optimizer.zero_grad#Adam.zero_grad": [4, 4], "mine": [1, 1],
                     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": [5, 5]}
    alone = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert printed == alone.stdout


def test_lightning(blocks):
    _, found = blocks("lightning", LIGHTNING)
    expected = {"run_training_epoch": 2, "run_training_batch": 8, "[_TrainingEpochLoop].train_dataloader_next": 8,
                "[Strategy]SingleDeviceStrategy.training_step": 8, "[Strategy]SingleDeviceStrategy.backward": 8,
                "[LightningModule]Model.optimizer_step": 8}
    assert {name: found.get(name) for name in expected} == {name: [count, count] for name, count in expected.items()}
    assert all(begun == ended for begun, ended in found.values())


def test_tensorflow(blocks):
    _, found = blocks("tensorflow", TENSORFLOW)
    assert found["mine"] == [1, 1] and found["tf.function-graph_building"] == [1, 1]
    assert all(begun == ended for begun, ended in found.values())
