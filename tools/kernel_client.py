"""kernel_client.py KERNEL FOLDER: runs cells in a kernel as a front end does, for test_kernel.py.

Reads a JSON list of steps from standard input. A step has `cells`, which are sent at once, and may have `stop`,
after how many seconds to interrupt them or the line at which they ask for it, `by_message` if not by a signal, and
`input`, the answer to each prompt.
Prints a JSON list with the status, standard output, standard error and error of all cells. Runs in .tools/venv.
"""

from __future__ import annotations

import json
import queue
import sys
import time
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager


def run(manager: KernelManager, client: BlockingKernelClient, step: dict[str, Any]) -> list[dict[str, str]]:
    answer = step.get("input")
    cells = {client.execute(cell, allow_stdin=answer is not None): dict.fromkeys(("status", "stdout", "stderr", "error"), "")
             for cell in step["cells"]}

    def interrupt() -> None:
        if step.get("by_message"):
            client.control_channel.send(client.session.msg("interrupt_request", {}))
        else:
            manager.interrupt_kernel()

    stop = step.get("stop")
    if isinstance(stop, int | float):
        time.sleep(stop)
        interrupt()
    left = set(cells)
    while left:
        if answer is not None and client.stdin_channel.msg_ready() and client.get_stdin_msg()["msg_type"] == "input_request":
            client.input(answer)
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except queue.Empty:
            if not manager.is_alive():
                sys.exit(f"the kernel died of {step}")
            continue
        name, content = message["parent_header"].get("msg_id"), message["content"]
        if name not in cells:
            continue
        if message["msg_type"] == "stream":
            cells[name][content["name"]] += content["text"] or "(an empty output)"
            for line in content["text"].splitlines():
                if line == stop:
                    interrupt()
        elif message["msg_type"] == "error":
            cells[name]["error"] = content["evalue"]
        elif message["msg_type"] == "status" and content["execution_state"] == "idle":
            left.discard(name)
    while any(not cell["status"] for cell in cells.values()):
        reply = client.get_shell_msg(timeout=60)
        if reply["parent_header"].get("msg_id") in cells:
            cells[reply["parent_header"]["msg_id"]]["status"] = reply["content"]["status"]
    return list(cells.values())


def main() -> None:
    manager = KernelManager(kernel_name=sys.argv[1])
    manager.start_kernel(cwd=sys.argv[2])
    try:
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        print(json.dumps([cell for step in json.load(sys.stdin) for cell in run(manager, client, step)]))
    finally:
        manager.shutdown_kernel()  # which ends gopls, too


if __name__ == "__main__":
    main()
