"""aot_compile.py h100|v5e DEVICES OUT PROGRAM.mlir...: compiles programs for a device that this machine lacks.

Prints a line of JSON for each: its path, processor seconds, temporary memory in bytes, and the error if it does not compile. The
optimised HLO is written to OUT/NAME.hlo, NAME being the program's file name without .mlir.
"""

from __future__ import annotations

import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def environment(device: str) -> None:
    """Sets what the compilers read when they are loaded: no device may be looked for."""
    import jaxlib

    site = os.path.dirname(os.path.dirname(jaxlib.__file__))
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.update(TPU_SKIP_MDS_QUERY="1", TPU_ACCELERATOR_TYPE="v5litepod-1", TPU_WORKER_HOSTNAMES="localhost")
    if device == "h100":
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_cuda_data_dir={site}/nvidia/cuda_nvcc".strip()
        os.environ["PATH"] += f":{site}/nvidia/cuda_nvcc/bin"


def topology(device: str, devices: int):
    from jax.experimental import topologies

    if device == "h100":
        with open(os.path.join(HERE, "h100.txtpb"), encoding="utf-8") as file:
            return topologies.get_topology_desc(platform="cuda", topology_name="h100", topology=f"1x1x{devices}",
                                                target_config=file.read())
    return topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2" if devices > 1 else "v5e:1x1")


def compile_text(of, devices: int, text: str):
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        replicas = devices if f"num_replicas = {devices}" in text else 1
        options = compiler.get_compile_options(num_replicas=replicas, num_partitions=1,
                                               device_assignment=np.arange(replicas).reshape(replicas, 1))
        return of.devices[0].client.compile(module, xla_client.DeviceList(tuple(of.devices[:replicas])), options)


def main() -> None:
    device, devices, out, *paths = sys.argv[1:]
    environment(device)
    of = topology(device, int(devices))
    os.makedirs(out, exist_ok=True)
    for path in paths:
        found: dict[str, object] = {"path": path}
        start = time.process_time()
        try:
            with open(path, encoding="utf-8") as file:
                executable = compile_text(of, int(devices), file.read())
            found["seconds"] = round(time.process_time() - start, 1)
            found["temporary"] = executable.get_compiled_memory_stats().temp_size_in_bytes
            name = os.path.basename(path).removesuffix(".mlir")
            with open(os.path.join(out, name + ".hlo"), "w", encoding="utf-8") as file:
                file.writelines(module.to_string() for module in executable.hlo_modules())
        except Exception as error:  # noqa: BLE001: whatever the compiler raises is the result
            found["error"] = f"{type(error).__name__}: {error}"[:2000]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
