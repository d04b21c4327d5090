"""A small training under PyTorch, where that is: its ranges as blocks, its trace, its collective calls, its memory."""
import json
import pathlib

from kit import Skip

HERE = pathlib.Path(__file__).resolve().parent


def names_in(text):
    """Every string in a JSON document."""
    if isinstance(text, str):
        yield text
    elif isinstance(text, dict):
        for value in text.values():
            yield from names_in(value)
    elif isinstance(text, list):
        for value in text:
            yield from names_in(value)


def torch(kit):
    seen = kit.run([kit.python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"])
    if seen.returncode or "True" not in seen.stdout:
        raise Skip(f"{kit.python} has no PyTorch that sees the GPU (--python names another)")
    trace = kit.folder / "torch.json.gz"
    words = [kit.python, str(HERE / "train.py"), str(trace), str(max(20, int(50 * kit.seconds)))]
    facts, report = kit.track("training", words, "--blocks-from=nvtx,torch", suffix="sqlite")
    reserved, found = facts[0]["reserved"], report["max_gpu_ram"]["combined"]
    kit.check("training: memory", reserved <= found, f"at least the {reserved / 2**20:.1f} MiB that PyTorch reserved",
              f"{found / 2**20:.1f} MiB")
    blocks = kit.run([kit.gpu_tracker, "analyze", "training.sqlite", "--format", "json"])
    (kit.folder / "training-blocks.json").write_text(blocks.stdout)
    names = set(names_in(json.loads(blocks.stdout)))
    wanted = {"NVTX": "training step", "the optimizer": "Optimizer.step", **({"NCCL": "nccl"} if facts[0]["nccl"] else {})}
    for whose, name in wanted.items():
        hits = sorted(text for text in names if name.lower() in text.lower())
        kit.check(f"training: blocks of {whose}", bool(hits), f"a name with {name}", ", ".join(hits[:3]) or f"none of {len(names)}")
    if not facts[0]["nccl"]:
        kit.tell("skipped", "training: blocks of NCCL", facts[0]["why"])
    operators = kit.run([kit.gpu_tracker, "profile", "operators", str(trace), "--format", "json"])
    is_read = operators.returncode == 0 and any("linear" in text for text in names_in(json.loads(operators.stdout)))
    kit.check("training: operators of its trace", is_read, "aten::linear among them",
              "it" if is_read else f"status {operators.returncode}, {operators.stderr.strip()[-200:]}")
