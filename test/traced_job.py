"""Traces of a training job on several GPUs, laid out as PyTorch's profiler writes them: one file for each rank.

Each step loads a batch, copies it, computes forward and backward while buckets of gradients are reduced over all ranks, reads the loss
back, and runs the optimizer. What is wrong with the job is known: the kernels of one rank are slower, so that the others wait for it in
every collective; another waits for its data every few steps; one step is far longer than the others.

    python test/traced_job.py FOLDER [--ranks 8] [--steps 189] [--launches 144]
"""
import argparse
import pathlib
import random

HEAD = """{{
  "schemaVersion": 1,
  "deviceProperties": [
    {{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85045411840, "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "numSms": 132}}
  ],
  "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {ranks}}},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759999990000000000,
  "traceEvents": [
"""
NAMES = """  {{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "ts": 0, "args": {{"name": "python"}}}},
  {{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {{"labels": "GPU 0"}}}},
"""
OPERATOR = """  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": {pid}, "tid": {pid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "Record function id": 0, "Concrete Inputs": ["", "", ""],
      "Input type": ["float", "float", ""], "Input Dims": [[64, 1024], [1024, 1024], []], "Ev Idx": {id}
    }}
  }},
"""
CALL = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "{name}", "pid": {pid}, "tid": {pid},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{"External id": {id}, "cbid": 211, "correlation": {id}}}
  }},
"""
FLOW = """  {{"ph": "s", "id": {id}, "pid": {pid}, "tid": {pid}, "ts": {ts:.3f}, "cat": "ac2g", "name": "ac2g"}},
  {{"ph": "f", "id": {id}, "pid": 0, "tid": {stream}, "ts": {start:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"}},
"""
WORK = """  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": {stream},
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "queued": 0, "device": 0, "context": 1, "stream": {stream}, "correlation": {id},{more}
      "registers per thread": 64, "shared memory": 0, "blocks per SM": 3.878788, "warps per SM": 15.515152,
      "grid": [512, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 24
    }}
  }},
"""
COLLECTIVE = """
      "Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements}, "Group size": {ranks},
      "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg",
      "Process Group Ranks": "{members}", "Seq": {sequence},"""
RANGE = """  {{
    "ph": "X", "cat": "user_annotation", "name": "{name}", "pid": {pid}, "tid": {pid},
    "ts": {ts:.3f}, "dur": {dur:.3f}, "args": {{}}
  }},
"""
TAIL = """  {{
    "ph": "i", "s": "g", "name": "Iteration End: PyTorch Profiler", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {ts:.3f}
  }}
]}}
"""
KERNELS = [
    ("aten::mm", "ampere_sgemm_128x64_nn", 60),
    ("aten::add_", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                   "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)", 9),
    ("aten::native_layer_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>("
                                "int, float, float const*, float const*, float const*, float*, float*, float*)", 14),
    ("aten::linear", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_"
                     "cublas", 85),
]
STREAM, COMMUNICATION_STREAM = 7, 20
SLOW_RANK, SLOWER, STARVED_RANK, STARVED_EVERY, LONG_STEP, LONG_RANK = 3, 1.12, 5, 4, 13, 1


class Rank:
    def __init__(self, number, ranks, path):
        self.number, self.pid, self.random = number, 4000 + number, random.Random(number)
        self.now, self.id = 5_000_000, 1
        self.free = {STREAM: self.now, COMMUNICATION_STREAM: self.now}
        self.file = open(path, "w")
        self.file.write(HEAD.format(rank=number, ranks=ranks) + NAMES.format(pid=self.pid))
        self.parts = []

    def put(self, form, **fields):
        self.parts.append(form.format(pid=self.pid, **fields))

    def launch(self, operator, kernel, length, category="kernel", call="cudaLaunchKernel", pause=None):
        """The host goes on while the GPU works."""
        self.id += 1
        begin, self.now = self.now, self.now + 7 + self.random.random()
        start = max(self.now + 2.5, self.free[STREAM] + 0.8)
        self.put(OPERATOR, name=operator, ts=begin, dur=14.2, id=self.id)
        self.put(CALL, name=call, ts=self.now, dur=5.1, id=self.id)
        self.put(FLOW, id=self.id, ts=self.now, start=start, stream=STREAM)
        self.put(WORK, category=category, name=kernel, ts=start, dur=length, id=self.id, stream=STREAM, more="")
        self.free[STREAM] = start + length
        self.now = begin + 15 + self.random.random() if pause is None else begin + pause

    def wait(self, operator):
        """The host waits until its stream is empty."""
        self.id += 1
        end = max(self.now + 3, self.free[STREAM] + 2)
        self.put(OPERATOR, name=operator, ts=self.now, dur=end - self.now, id=self.id)
        self.put(CALL, name="cudaStreamSynchronize", ts=self.now + 0.5, dur=end - self.now - 1, id=self.id)
        self.now = end + 4

    def arrive(self):
        """Calls for a collective, and tells when it begins on this GPU: behind all that computes the gradients."""
        self.id += 1
        self.put(CALL, name="cudaLaunchKernelExC", ts=self.now, dur=6.0, id=self.id)
        self.now += 9
        self.arrival = max(self.now, self.free[STREAM] + 1, self.free[COMMUNICATION_STREAM] + 1)
        return self.arrival

    def reduce(self, end, more):
        self.put(WORK, category="kernel", name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 ts=self.arrival, dur=end - self.arrival, id=self.id, stream=COMMUNICATION_STREAM, more=more)
        self.free[COMMUNICATION_STREAM] = end

    def close(self):
        self.file.write("".join(self.parts) + TAIL.format(ts=self.now))
        self.file.close()


class Job:
    """Job(folder).write()"""

    def __init__(self, folder, ranks=8, steps=40, launches=48, buckets=4):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.steps, self.launches, self.buckets, self.sequence = steps, launches, buckets, 0
        self.rank = [Rank(number, ranks, folder / f"rank{number}.json") for number in range(ranks)]

    def compute(self, rank, count):
        for i in range(count):
            operator, kernel, length = KERNELS[i % len(KERNELS)]
            slower = SLOWER if rank.number == SLOW_RANK else 1
            rank.launch(operator, kernel, length * slower * (0.97 + 0.06 * rank.random.random()))

    def load(self, rank, step):
        begin = rank.now
        rank.now += 1500 if rank.number == STARVED_RANK and step % STARVED_EVERY == 0 else 60 + 10 * rank.random.random()
        rank.put(RANGE, name="enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ts=begin, dur=rank.now - begin)
        rank.launch("aten::copy_", "Memcpy HtoD (Pinned -> Device)", 40, "gpu_memcpy", "cudaMemcpyAsync")

    def reduce(self, elements):
        self.sequence += 1
        end = max(rank.arrive() for rank in self.rank) + 4e-6 * elements
        more = COLLECTIVE.format(elements=elements, ranks=len(self.rank), sequence=self.sequence,
                                 members=list(range(len(self.rank))))
        for rank in self.rank:
            rank.reduce(end + 0.3 * rank.random.random(), more)

    def step(self, number):
        begin = [rank.now for rank in self.rank]
        for rank in self.rank:
            self.load(rank, number)
            self.compute(rank, self.launches // 3)
        for _ in range(self.buckets):
            for rank in self.rank:
                self.compute(rank, self.launches // 2 // self.buckets)
            self.reduce(26_214_400)
        for rank, start in zip(self.rank, begin):
            rank.free[STREAM] = max(rank.free[STREAM], rank.free[COMMUNICATION_STREAM])
            rank.wait("aten::item")
            if number == LONG_STEP and rank.number == LONG_RANK:
                rank.now += 9000
            self.compute(rank, self.launches // 6)
            rank.put(RANGE, name=f"ProfilerStep#{number}", ts=start, dur=rank.now - start)
            rank.now += 2
            rank.file.write("".join(rank.parts))
            rank.parts.clear()

    def write(self):
        for number in range(self.steps):
            self.step(number)
        for rank in self.rank:
            rank.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    for option, standard in (("ranks", 8), ("steps", 189), ("launches", 144)):
        parser.add_argument(f"--{option}", type=int, default=standard)
    given = parser.parse_args()
    Job(given.folder, given.ranks, given.steps, given.launches).write()
