"""Says, in nanoseconds, how long a Jupyter kernel takes for what the benchmarks
measure: its start, one cell, a second of output, and the client's memory for it."""
import resource
import sys
import time

from jupyter_client.manager import start_new_kernel

begun = time.perf_counter_ns()
manager, client = start_new_kernel(kernel_name="python3")


def run(code):
    seen = 0

    def hook(message):
        nonlocal seen
        seen += len(message["content"].get("text", ""))

    client.execute_interactive(code, output_hook=hook, timeout=120)
    return seen


try:
    run("1+1")
    print("start", time.perf_counter_ns() - begun)
    begun = time.perf_counter_ns()
    for _ in range(200):
        run("1+1")
    print("cell", (time.perf_counter_ns() - begun) // 200)
    for name, code in (("print", sys.argv[1]), ("lines", sys.argv[2])):
        begun = time.perf_counter_ns()
        seen = run(code)
        print(name, time.perf_counter_ns() - begun)
        print(name + "_bytes", seen)
    print("rss_kib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
finally:
    manager.shutdown_kernel(now=True)
