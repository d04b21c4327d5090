"""The real training frameworks, where they are installed (make test-frameworks does that), with tiny models."""
import collections
import csv
import importlib.util
import pickle

import gpu_tracker
import pytest
from gpu_tracker import callbacks

EPOCH = ["+epoch", "+step", "-step", "+step", "-step"]
VALIDATION = ["+validation", "-validation"]


def marks(file):
    with open(file, newline="") as lines:
        return [("+" if row["position"] == "0" else "-") + row["code_block_name"] for row in csv.DictReader(lines)
                if row["call"]]


def finished_calls(file):
    """How many calls of each block have an end."""
    table = gpu_tracker.SubTrackingAnalyzer(None, file).calls_table()
    return collections.Counter(name for name, stop in zip(table["code_block_name"], table["stop"]) if stop is not None)


class Interruption(Exception):
    pass


@pytest.fixture
def keras(monkeypatch):
    """Keras on the first of its back ends that is installed."""
    back_end = next((name for name in ("torch", "jax", "tensorflow") if importlib.util.find_spec(name)), None)
    if back_end is None:
        pytest.skip("Keras has no back end that can train")
    monkeypatch.setenv("KERAS_BACKEND", back_end)
    return pytest.importorskip("keras")


@pytest.fixture
def keras_model(keras):
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def keras_data():
    numpy = pytest.importorskip("numpy")
    return numpy.ones((8, 3), "float32"), numpy.ones((8, 1), "float32")


def test_keras(keras_model, keras_data):
    quiet = {"batch_size": 4, "verbose": 0, "callbacks": [callbacks.keras("blocks.csv")]}
    keras_model.fit(*keras_data, epochs=2, validation_data=keras_data, **quiet)
    assert marks("blocks.csv") == [*EPOCH, *VALIDATION, "-epoch"] * 2
    keras_model.evaluate(*keras_data, **quiet)
    keras_model.predict(keras_data[0], **quiet)
    assert marks("blocks.csv")[-4:] == [*VALIDATION, "+predict", "-predict"]


def test_keras_that_was_interrupted(keras, keras_model, keras_data):
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 1:
                raise Interruption

    block = callbacks.keras("blocks.csv")
    with pytest.raises(Interruption):
        keras_model.fit(*keras_data, batch_size=4, verbose=0, callbacks=[block, Interrupt()])
    keras_model.fit(*keras_data, batch_size=4, verbose=0, callbacks=[block])
    assert finished_calls("blocks.csv") == {"epoch": 1, "step": 3}


@pytest.fixture
def lightning_parts():
    """(module, data loader, trainer(callbacks))"""
    lightning = pytest.importorskip("lightning")
    torch = pytest.importorskip("torch")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def training_step(self, batch, index):
            return self.layer(batch[0]).mean()

        def validation_step(self, batch, index):
            self.layer(batch[0])

        test_step = predict_step = validation_step

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def trainer(*used):
        return lightning.Trainer(max_epochs=2, callbacks=list(used), logger=False, enable_checkpointing=False,
                                 enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 3)), batch_size=4)
    return Model(), data, trainer


@pytest.mark.filterwarnings("ignore")
def test_lightning(lightning_parts):
    model, data, trainer = lightning_parts
    used = trainer(callbacks.lightning("blocks.csv"))
    used.fit(model, data, data)
    assert marks("blocks.csv") == ["+sanity check", "-sanity check", *[*EPOCH, *VALIDATION, "-epoch"] * 2]
    used.validate(model, data, verbose=False)
    used.test(model, data, verbose=False)
    used.predict(model, data)
    assert marks("blocks.csv")[-6:] == [*VALIDATION, "+test", "-test", "+predict", "-predict"]


@pytest.mark.filterwarnings("ignore")
def test_lightning_that_was_interrupted(lightning_parts):
    model, data, trainer = lightning_parts

    def fail(*_):
        raise Interruption

    model.training_step = fail
    with pytest.raises(Interruption):
        trainer(callbacks.lightning("blocks.csv")).fit(model, data)
    assert marks("blocks.csv") == ["+epoch", "+step", "-step", "-epoch"]


def transformers_trainer(file, **arguments):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x=None, labels=None):
            value = self.layer(x)
            return {"loss": ((value - labels) ** 2).mean(), "logits": value}

    data = [{"x": torch.ones(3), "labels": torch.ones(1)} for _ in range(8)]
    settings = transformers.TrainingArguments(output_dir="out", report_to=[], save_strategy="no", use_cpu=True,
                                              disable_tqdm=True, per_device_train_batch_size=2,
                                              gradient_accumulation_steps=2, **arguments)
    return transformers.Trainer(Model(), settings, train_dataset=data, eval_dataset=data,
                                callbacks=[callbacks.hugging_face(file)])


def test_transformers():
    """A step is a step of the optimizer, of two batches here."""
    trainer = transformers_trainer("blocks.csv", num_train_epochs=2, eval_strategy="epoch")
    trainer.train()
    assert marks("blocks.csv") == [*EPOCH, "-epoch"] * 2


def test_transformers_that_stop_inside_an_epoch():
    transformers_trainer("blocks.csv", max_steps=3).train()
    assert marks("blocks.csv") == [*EPOCH, "-epoch", "+epoch", "+step", "-step", "-epoch"]


@pytest.mark.parametrize("package, make", [
    ("keras", callbacks.keras), ("lightning", callbacks.lightning), ("transformers", callbacks.hugging_face)])
def test_pickles(request, package, make):
    if package == "keras":
        request.getfixturevalue("keras")
    pytest.importorskip(package)
    copy = pickle.loads(pickle.dumps(make("blocks.csv")))
    assert isinstance(copy, type(make("blocks.csv")).__mro__[1])


def test_the_notebook_logger_with_pytorch_on_the_cpu(tmp_path, monkeypatch):
    """Without CUDA the logger leaves PyTorch alone; the memory of its tensors is found all the same."""
    pytest.importorskip("torch")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    cells = ["from gpu_tracker.notebook import IPyGPULogger\nlogger = IPyGPULogger(backend='torch').start()",
             "tensor = torch.ones(100 * 2**20 // 4)", "torch.ones(200 * 2**20 // 4).sum().item()",
             "print(list(logger.data), torch.cuda.is_initialized())",
             "first, second = logger.cells[:2]\nprint(first.data.gen_mem_used_delta, second.data.gen_mem_peaked)"]
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in ["import torch", *cells]])
    nbclient.NotebookClient(document, timeout=120, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [output["text"] for cell in document.cells for output in cell.outputs if output.get("name") == "stdout"]
    assert printed[0].count("None") == 3 and printed[0].endswith("False\n")
    kept, peaked = map(int, printed[1].split())
    assert 95 <= kept <= 130 and 195 <= peaked <= 230
