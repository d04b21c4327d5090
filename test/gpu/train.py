"""train.py TRACE STEPS: a small training on one GPU, with torch.profiler, ranges of NVTX, and NCCL where it starts."""
import json
import os
import sys

import torch
import torch.distributed as distributed
from torch.utils.data import DataLoader, TensorDataset


def start_nccl():
    """Alone in its group: the calls are real all the same. Returns why it does not start, or nothing."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29517"), RANK="0", WORLD_SIZE="1")
    try:
        distributed.init_process_group("nccl")
        distributed.all_reduce(torch.ones(1, device="cuda"))
    except Exception as trouble:  # whatever this build lacks
        return f"NCCL does not start: {trouble}"[:200]
    return ""


def train(steps, why):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    data = TensorDataset(torch.randn(steps * 64, 1024), torch.randint(10, (steps * 64,)))
    for inputs, labels in DataLoader(data, batch_size=64):
        torch.cuda.nvtx.range_push("training step")
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs.cuda()), labels.cuda())
        loss.backward()
        if not why:
            for parameter in model.parameters():
                distributed.all_reduce(parameter.grad)
        optimizer.step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def main(trace, steps):
    why = start_nccl()
    train(steps, why)
    with torch.profiler.profile() as profile:
        train(min(steps, 10), why)
    profile.export_chrome_trace(trace)
    print(json.dumps({"reserved": torch.cuda.max_memory_reserved(), "nccl": not why, "why": why}))
    if not why:
        distributed.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]))
