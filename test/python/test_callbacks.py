"""Callbacks of training frameworks, driven as the frameworks drive them."""
import copy
import csv
import sys
import types

import pytest
from gpu_tracker import callbacks


@pytest.fixture
def stand_in(monkeypatch):
    """stand_in("package.module", "Name"): a module with an empty base class of that name."""

    def make(path, name):
        parts = path.split(".")
        for i in range(len(parts)):
            module = types.ModuleType(".".join(parts[:i + 1]))
            monkeypatch.setitem(sys.modules, module.__name__, module)
        setattr(module, name, type(name, (), {}))
        return getattr(module, name)

    return make


def marks(file):
    with open(file, newline="") as lines:
        return [("+" if row["position"] == "0" else "-") + row["code_block_name"] for row in csv.DictReader(lines)
                if row["call"]]


TWO_STEPS = ["+epoch", "+step", "-step", "+step", "-step"]


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning(stand_in, monkeypatch, package):
    if package != "lightning.pytorch":
        monkeypatch.setitem(sys.modules, "lightning", None)
    base = stand_in(package, "Callback")
    callback = callbacks.lightning("blocks.csv")
    assert isinstance(callback, base)
    trainer, module = types.SimpleNamespace(sanity_checking=False), object()
    callback.on_train_epoch_start(trainer, module)
    for batch in range(2):
        callback.on_train_batch_start(trainer, module, {}, batch)
        callback.on_train_batch_end(trainer, module, {}, {}, batch)
    callback.on_validation_start(trainer, module)
    callback.on_validation_end(trainer, module)
    callback.on_train_epoch_end(trainer, module)
    callback.on_train_end(trainer, module)
    assert marks("blocks.csv") == [*TWO_STEPS, "+validation", "-validation", "-epoch"]


def totals(file):
    with open(file, newline="") as lines:
        return [(row["code_block_name"], row["total"]) for row in csv.DictReader(lines) if row["position"] == "0"]


def test_epochs_are_counted(stand_in):
    """Training that goes on from a checkpoint does fewer of them."""
    stand_in("lightning.pytorch", "Callback")
    stand_in("keras.callbacks", "Callback")
    stand_in("transformers", "TrainerCallback")
    lightning, keras, transformers = (make(f"{make.__name__}.csv") for make in
                                      (callbacks.lightning, callbacks.keras, callbacks.hugging_face))
    keras.params = {"epochs": 20, "steps": 7}
    for epoch in (5, 6):
        lightning.on_train_epoch_start(types.SimpleNamespace(max_epochs=20, current_epoch=epoch), None)
        keras.on_epoch_begin(epoch)
        state = types.SimpleNamespace(num_train_epochs=20, epoch=epoch + 0.5, max_steps=1000, global_step=3)
        transformers.on_epoch_begin(None, state, None, model=None)
        transformers.on_step_begin(None, state, None, model=None)
    assert totals("lightning.csv") == totals("keras.csv") == [("epoch", "15"), ("epoch", "15")]
    assert totals("hugging_face.csv") == [("epoch", "15"), ("step", "")] * 2
    state = types.SimpleNamespace(num_train_epochs=1, epoch=None, max_steps=1000, global_step=0)
    transformers.on_step_begin(None, state, None, model=None)
    assert totals("hugging_face.csv")[-1] == ("step", "1002")
    lightning.on_train_epoch_start(types.SimpleNamespace(max_epochs=-1, current_epoch=7), None)
    assert totals("lightning.csv")[-1] == ("epoch", "")


def test_an_exception_ends_what_is_open(stand_in):
    stand_in("lightning.pytorch", "Callback")
    callback = callbacks.lightning("blocks.csv")
    callback.on_train_epoch_start(None, None)
    callback.on_train_batch_start(None, None, {}, 0)
    callback.on_exception(None, None, KeyboardInterrupt())
    assert marks("blocks.csv") == ["+epoch", "+step", "-step", "-epoch"]


def test_keras(stand_in):
    base = stand_in("keras.callbacks", "Callback")
    callback = callbacks.keras("blocks.csv")
    assert isinstance(callback, base)
    callback.on_epoch_begin(0, logs={})
    for batch in range(2):
        callback.on_train_batch_begin(batch, logs={})
        callback.on_train_batch_end(batch, logs={"loss": 1})
    callback.on_test_begin()
    callback.on_test_end()
    callback.on_epoch_end(0)
    callback.on_train_end()
    assert marks("blocks.csv") == [*TWO_STEPS, "+validation", "-validation", "-epoch"]


def test_hugging_face(stand_in):
    base = stand_in("transformers", "TrainerCallback")
    callback = callbacks.hugging_face("blocks.csv")
    assert isinstance(callback, base)
    arguments = (object(), object(), object())
    callback.on_epoch_begin(*arguments, model=None)
    for _ in range(2):
        callback.on_step_begin(*arguments, model=None)
        callback.on_step_end(*arguments, model=None)
    callback.on_train_end(*arguments)  # max_steps reached inside an epoch
    assert marks("blocks.csv") == [*TWO_STEPS, "-epoch"]


def test_frameworks_are_imported_when_asked_for(python):
    done = python("""
        import sys
        import gpu_tracker.callbacks
        print(sorted({"lightning", "keras", "transformers", "torch"} & set(sys.modules)))
    """)
    assert done.stdout == "[]\n"


def test_blocks_that_never_ended():
    blocks = callbacks.Blocks("blocks.csv")
    blocks.end("never begun")
    blocks.begin("a")
    blocks.begin("b")
    blocks.begin("a")
    blocks.end_all()
    assert marks("blocks.csv") == ["+a", "+b", "+a", "-a"]


def test_what_is_not_installed_is_named(monkeypatch):
    for package in ("lightning", "lightning.pytorch", "pytorch_lightning", "keras", "keras.callbacks", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    for make, package in [(callbacks.lightning, "lightning"), (callbacks.keras, "keras"),
                          (callbacks.hugging_face, "transformers")]:
        with pytest.raises(ImportError, match=package):
            make()


def test_copies_mark_blocks_of_their_own(stand_in):
    stand_in("keras.callbacks", "Callback")
    callback = callbacks.keras("blocks.csv", overwrite=True)
    callback.on_epoch_begin(0)
    twin = copy.deepcopy(callback)
    twin.on_epoch_begin(0)
    twin.on_epoch_end(0)
    callback.on_epoch_end(0)
    assert marks("blocks.csv") == ["+epoch", "+epoch", "-epoch", "-epoch"]
