"""JSON of rocprofv3: records whose names stand in tables before them, on the streams and threads that they ran on."""
import json
import sqlite3
import subprocess

import pytest

CPU, GPU0, GPU1 = 18446744073709551600, 18446744073709551601, 53062
KINDS = [{"kind": "NONE", "operations": []},
         {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize"]},
         {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxThreadRangeA", "roctxGetThreadId"]},
         {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE",
                                                "MEMORY_COPY_DEVICE_TO_HOST"]},
         {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_COMPLETE"]},
         {"kind": "MEMORY_ALLOCATION", "operations": ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE"]}]


def record(kind, operation, correlation, start, end, **more):
    return {"size": 64, "kind": kind, "operation": operation, "correlation_id": {"internal": correlation, "external": 0},
            "start_timestamp": start, "end_timestamp": end, "thread_id": 4001, **more}


def kernel(correlation, start, end, kernel_id, agent=GPU0, stream=3):
    more = {} if stream is None else {"stream_id": {"handle": stream}}
    return record(4, 1, correlation, start, end, **more, dispatch_info={
        "size": 96, "agent_id": {"handle": agent}, "queue_id": {"handle": 2}, "kernel_id": kernel_id, "dispatch_id": 1,
        "private_segment_size": 0, "group_segment_size": 512, "workgroup_size": {"x": 256, "y": 1, "z": 1},
        "grid_size": {"x": 1025, "y": 2, "z": 1}})


def copy(correlation, operation, start, end, to, source, size):
    return record(3, operation, correlation, start, end, dst_agent_id={"handle": to}, src_agent_id={"handle": source},
                  bytes=size, stream_id={"handle": 3})


def process():
    return {
        "metadata": {"pid": 4000, "init_time": 1, "fini_time": 9000, "config": {"kernel_rename": False}, "command": ["a.out"]},
        "agents": [{"id": {"handle": CPU}, "type": 1, "name": "EPYC", "product_name": "AMD EPYC"},
                   {"id": {"handle": GPU0}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"},
                   {"id": {"handle": GPU1}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"}],
        "counters": [],
        "strings": {"callback_records": [], "buffer_records": KINDS,
                    "marker_api": [{"key": 10, "value": "train_step_7"}], "correlation_id": {"external": []}},
        "code_objects": [],
        "kernel_symbols": [{"kernel_id": 0, "kernel_name": ""},
                           {"kernel_id": 1, "kernel_name": "_Z4gemmPf.kd", "formatted_kernel_name": "gemm(float*, \"x\")",
                            "demangled_kernel_name": "gemm(float*)"},
                           {"kernel_id": 2, "kernel_name": "ncclDevKernel_AllReduce.kd",
                            "formatted_kernel_name": "ncclDevKernel_AllReduce"}],
        "host_functions": [],
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [kernel(11, 2000, 5000, 1), kernel(12, 5000, 5500, 2), kernel(13, 2500, 2600, 9, GPU1, None)],
            "hip_api": [record(1, 1, 11, 1000, 1500), record(1, 1, 12, 1500, 1600), record(1, 2, 14, 1600, 1700, args=[
                {"type": "unsigned long", "name": "sizeBytes", "value": "4096"}]), record(1, 3, 15, 1700, 6000)],
            "hsa_api": [], "marker_api": [record(2, 0, 10, 900, 6100)],
            "memory_copy": [copy(14, 2, 6000, 6100, GPU0, CPU, 4096), copy(16, 3, 6200, 6300, CPU, GPU1, 100)],
            "memory_allocation": [record(5, 1, 17, 950, 960, agent_id={"handle": GPU0}, address="0x7f0000000000", allocation_size=8192)],
            "scratch_memory": [], "pc_sample_host_trap": [{"record": {"dispatch_id": 1}, "inst_index": 0}]}}


def document(**changes):
    return {"rocprofiler-sdk-tool": [{**process(), **changes}]}


@pytest.fixture
def rows(gpu_tracker, tmp_path):
    """rows(text): the events by SQL, in the order of the file."""
    def run(text, name="4000_results.json"):
        path, out = tmp_path / name, tmp_path / "t.sqlite"
        path.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
        subprocess.run([gpu_tracker, "timeline", "export", "--overwrite", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
        with sqlite3.connect(out) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY id")]
    return run


def test_kernels_copies_calls_and_ranges(rows):
    found = {(row["name"], row["start_ns"]): row for row in rows(document())}
    shown = {key: (row["category"], row["pid"], row["tid"], row["duration_ns"], row["correlation"], row["bytes"])
             for key, row in found.items()}
    assert shown == {
        ("gemm(float*, \"x\")", 2000): ("kernel", "GPU 0", "3", 3000, 11, None),
        ("ncclDevKernel_AllReduce", 5000): ("kernel", "GPU 0", "3", 500, 12, None),
        ("kernel 9", 2500): ("kernel", "GPU 1", "queue 2", 100, 13, None),
        ("hipLaunchKernel", 1000): ("hip_runtime", "4000", "4001", 500, 11, None),
        ("hipLaunchKernel", 1500): ("hip_runtime", "4000", "4001", 100, 12, None),
        ("hipMemcpyAsync", 1600): ("hip_runtime", "4000", "4001", 100, 14, None),
        ("hipStreamSynchronize", 1700): ("hip_runtime", "4000", "4001", 4300, 15, None),
        ("train_step_7", 900): ("user_annotation", "4000", "4001", 5200, 10, None),
        ("Memcpy HtoD", 6000): ("gpu_memcpy", "GPU 0", "3", 100, 14, 4096),
        ("Memcpy DtoH", 6200): ("gpu_memcpy", "GPU 1", "3", 100, 16, 100),
        ("MEMORY_ALLOCATION_ALLOCATE", 950): ("memory_allocation", "4000", "4001", 10, 17, 8192)}
    gemm = found["gemm(float*, \"x\")", 2000]
    assert json.loads(gemm["args"]) == {"correlation": 11, "grid": [5, 2, 1], "block": [256, 1, 1], "shared memory": 512,
                                        "device": 0, "stream": 3, "queue": 2}
    assert (gemm["device"], gemm["stream"], gemm["process"], gemm["step"]) == (0, 3, "AMD Instinct MI300X", 7)
    assert json.loads(found["hipMemcpyAsync", 1600]["args"])["sizeBytes"] == "4096"


def test_the_analyses_see_a_gpu(gpu_tracker, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document()))
    tables = {}
    for analysis in ("breakdown", "launches", "api"):
        out = subprocess.run([gpu_tracker, "profile", analysis, "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        tables[analysis] = json.loads(out)
    first = tables["breakdown"]["breakdown"][0]
    assert (first["compute_us"], first["communication_us"], first["memory_us"]) == (3.0, 0.5, 0.1)
    assert "hipStreamSynchronize" in json.dumps(tables["api"])
    assert [(row["device"], row["count"]) for row in tables["launches"]["launches"]] == [("GPU 0", 3), ("GPU 1", 0)]


def test_one_process_may_stand_without_a_list(rows):
    assert len(rows({"rocprofiler-sdk-tool": process()})) == len(rows(document()))


def test_kernels_of_which_only_counters_were_collected(rows):
    about = kernel(1, 100, 300, 1)
    keys = ("correlation_id", "start_timestamp", "end_timestamp", "dispatch_info")
    counted = {"dispatch_data": {key: about[key] for key in keys},
               "records": [{"counter_id": {"handle": 5}, "value": 7.0}], "thread_id": 4001}
    [row] = rows(document(buffer_records={"kernel_dispatch": [], "hip_api": []}, callback_records={"counter_collection": [counted]}))
    assert (row["name"], row["duration_ns"], row["tid"]) == ("gemm(float*, \"x\")", 200, "queue 2")


def test_what_is_cut_off_costs_what_is_behind(gpu_tracker, tmp_path):
    text, path = json.dumps(document(), indent=1), tmp_path / "cut.json"
    whole = len(json.loads(text)["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]) + 8
    before = 0
    for cut in range(text.index("kernel_dispatch\": [") + 100, len(text), 97):
        path.write_text(text[:cut])
        out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        [source] = json.loads(out)["sources"]
        assert source["format"] == "rocprof" and source["cut_off"] == "yes" and before <= source["events"] <= whole
        before = source["events"]
    assert before == whole


@pytest.mark.parametrize("damage", [{"start_timestamp": 7000}, {"start_timestamp": "x"}, {"end_timestamp": 2 ** 70},
                                    {"end_timestamp": None}])
def test_a_record_without_a_length_costs_itself(gpu_tracker, tmp_path, damage):
    tree = document()
    tree["rocprofiler-sdk-tool"][0]["buffer_records"]["hip_api"][1].update(damage)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(tree))
    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    [source] = json.loads(out)["sources"]
    assert source["events"] == 10 and source["lost"] == 1
