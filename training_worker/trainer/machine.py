"""Machine metrics of a training run: cores, memory and, where there is one, the GPU."""

from __future__ import annotations

import time

import psutil
import torch

MEGA = 1e6


class Machine:
    """Readings since the previous one; the first covers the time since construction."""

    def __init__(self) -> None:
        self.process = psutil.Process()
        psutil.cpu_percent()  # the first call only sets the start of the next measurement
        self.marked, self.busy = time.perf_counter(), self.cpu_seconds()

    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def reading(self) -> dict[str, float]:
        """Return metrics by the names of prove/metrics; those of a GPU only where torch has one."""
        now, busy = time.perf_counter(), self.cpu_seconds()
        cores = (busy - self.busy) / max(1e-9, now - self.marked)
        self.marked, self.busy = now, busy
        return {
            "cpu_process": cores,
            "cpu_machine": psutil.cpu_percent() / 100,
            "memory": self.process.memory_info().rss / MEGA,
            "memory_machine": psutil.virtual_memory().percent / 100,
            **gpu(),
        }


def gpu() -> dict[str, float]:
    """Return load and memory of the GPUs; nothing without a GPU, and no load without NVML's Python package."""
    if not torch.cuda.is_available():
        return {}
    free, total = torch.cuda.mem_get_info()
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    found = {"gpu_memory": (total - free) / MEGA, "gpu_memory_peak": peak / MEGA}
    try:
        loads = [torch.cuda.utilization(device) for device in range(torch.cuda.device_count())]
    except (ModuleNotFoundError, RuntimeError):
        return found
    return {**found, "gpu_load": sum(loads) / len(loads) / 100}
