"""What our sampling costs a program that does nothing but launch kernels."""
import json

LAUNCHES = 50000  # for each second of load
TIMES = 4
PERCENT = 2


def launches(kit):
    """Alone and tracked in turns; the least of each is what the machine did not disturb."""
    words = kit.program("launch", int(LAUNCHES * kit.seconds))
    alone, tracked = [], []
    for _ in range(TIMES):
        alone.append(json.loads(kit.run(words).stdout)["clock_us"])
        facts, _ = kit.track(f"launch-{len(tracked)}", words)
        tracked.append(facts[0]["clock_us"])
    more = 100 * (min(tracked) / min(alone) - 1)
    kit.check("overhead: launches of kernels, sampled each 0.1 s", more <= PERCENT, f"at most {PERCENT} % more than {min(alone):.3f} us",
              f"{min(tracked):.3f} us ({more:+.2f} %)")
