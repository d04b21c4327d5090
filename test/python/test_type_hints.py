"""Annotations of everything public can be evaluated, with and without pandas."""
import importlib
import inspect
import pkgutil
import sys
import typing

import gpu_tracker
import pandas
import pytest

MODULES = ["gpu_tracker", *(module.name for module in pkgutil.walk_packages(gpu_tracker.__path__, "gpu_tracker.")
                            if not any(part.startswith("_") for part in module.name.split(".")))]


def public():
    """Return functions, classes and methods with their names."""
    found = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if not callable(thing):
                continue
            found[f"{path}.{name}"] = thing
            for attribute, member in vars(thing).items() if inspect.isclass(thing) else ():
                function = getattr(member, "fget", getattr(member, "__func__", member))
                if inspect.isfunction(function):
                    found[f"{path}.{name}.{attribute}"] = function
    return found


@pytest.mark.parametrize("has_pandas", [True, False])
def test_annotations_can_be_evaluated(has_pandas, monkeypatch):
    things = public()
    assert len(things) > 200
    if not has_pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    failed = {}
    for name, thing in things.items():
        try:
            typing.get_type_hints(thing)
        except Exception as error:
            failed[name] = repr(error)
    assert not failed


def test_annotations_name_the_types_of_pandas():
    hints = typing.get_type_hints(gpu_tracker.SubTrackingAnalyzer.load_timepoints)
    assert hints["return"] is pandas.DataFrame
    assert typing.get_type_hints(gpu_tracker.Tracker.__init__)["at_limit"] == typing.Literal["warn", "raise", "kill"]
