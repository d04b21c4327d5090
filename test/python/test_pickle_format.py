"""The pickle format: what Python loads is what the JSON format says."""
import ctypes
import dataclasses
import io
import json
import math
import pathlib
import pickle
import pickletools

import pytest

pytestmark = pytest.mark.sanitize

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "build" / "libgputracker.so"

# A recording as the original gpu_tracker writes it.
STATIC = ("gigabytes,gigabytes,hours,25.5,0.0,2,2,0,0",
          "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,"
          "n_expected_cores,system_gpu_count,n_expected_gpus")
COLUMNS = ("main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram,combined_gpu_ram,"
           "system_gpu_ram,gpu_sum_utilization_percent,gpu_hardware_utilization_percent,main_n_threads,"
           "descendants_n_threads,combined_n_threads,cpu_system_sum_utilization_percent,"
           "cpu_system_hardware_utilization_percent,cpu_main_sum_utilization_percent,"
           "cpu_main_hardware_utilization_percent,cpu_descendants_sum_utilization_percent,"
           "cpu_descendants_hardware_utilization_percent,cpu_combined_sum_utilization_percent,"
           "cpu_combined_hardware_utilization_percent,timestamp")
ROWS = ("0.25,0.0,0.25,0.5,0.0,0.0,0.0,0.0,0.0,0.0,1,0,1,119.0,59.5,10.0,5.0,0.0,0.0,10.0,5.0,1795231835.25",
        "0.5,0.125,0.625,0.75,0.0,0.0,0.0,0.0,0.0,0.0,3,1,4,20.0,10.0,30.0,15.0,0.0,0.0,30.0,15.0,1795231836.25")

CLASSES = {name: dataclasses.make_dataclass(name, fields.split()) for name, fields in {
    "RSSValues": "total_rss private_rss shared_rss",
    "MaxRAM": "unit system_capacity system main descendants combined",
    "MaxGPURAM": "unit system_capacity system main descendants combined",
    "ProcessingUnitPercentages": "max_sum_percent max_hardware_percent mean_sum_percent mean_hardware_percent",
    "CPUUtilization": "system_core_count n_expected_cores system main descendants combined main_n_threads "
                      "descendants_n_threads combined_n_threads",
    "GPUUtilization": "system_gpu_count n_expected_gpus gpu_percentages",
    "ComputeTime": "unit time",
    "ResourceUsage": "max_ram max_gpu_ram cpu_utilization gpu_utilization compute_time",
}.items()}


class Unpickler(pickle.Unpickler):
    """Knows only the names that the format may use."""

    def find_class(self, module, name):
        if (module, name) == ("gpu_tracker._results", "from_tree"):
            return lambda kind, tree: (kind, tree)
        assert module == "gpu_tracker.tracker"
        return CLASSES[name]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 500), ("path_length", ctypes.c_int)]


@pytest.fixture(scope="module")
def library():
    return ctypes.CDLL(str(LIBRARY))


@pytest.fixture
def render(library):
    """render(maker, *arguments): the report as loaded from its pickle, and from its JSON."""

    def text(report, name, error):
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        assert library.gt_report_render(report, name, ctypes.byref(data), ctypes.byref(length),
                                        ctypes.byref(error)) == 0, error.text
        return ctypes.string_at(data, length.value)

    def both(maker, *arguments):
        report, error = ctypes.c_void_p(), Error()
        assert getattr(library, maker)(*arguments, ctypes.byref(report), ctypes.byref(error)) >= 0, error.text
        pickled = text(report, b"pickle", error)
        as_json = json.loads(text(report, b"json", error))
        library.gt_report_free(report)
        assert max(opcode.proto for opcode, _, _ in pickletools.genops(pickled)) == 2
        return Unpickler(io.BytesIO(pickled)).load(), as_json

    return both


def with_null(value):
    """Missing numbers are NaN in pickles and null in JSON."""
    if isinstance(value, dict):
        return {key: with_null(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def test_a_tracking_report_is_the_original_dataclasses(render, tmp_path):
    recording = tmp_path / "recording.csv"
    recording.write_text("\r\n".join([STATIC[1], STATIC[0], COLUMNS, *ROWS, ""]), newline="")
    usage, as_json = render("gt_recording_report", str(recording).encode(), None)
    assert type(usage) is CLASSES["ResourceUsage"]
    assert type(usage.max_ram.main) is CLASSES["RSSValues"]
    assert type(usage.gpu_utilization.gpu_percentages) is CLASSES["ProcessingUnitPercentages"]
    assert usage.max_ram.combined.total_rss == 0.625
    assert usage.cpu_utilization.combined_n_threads == 4
    assert math.isnan(usage.max_ram.main.shared_rss)
    fields = dataclasses.asdict(usage)
    assert with_null(fields) == {key: as_json[key] for key in fields}
    assert list(fields) == list(as_json)[:5]


def test_another_report_is_a_tree(render):
    (kind, tree), as_json = render("gt_schema_report")
    assert kind == "schema"
    assert tree == as_json
    assert tree["metrics"]["cpu_time"]["unit"] == "seconds"
