"""Which of the processes of a training this one is, and who started them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from lightning.fabric.plugins import ClusterEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment

from pitgeo.config.config import TrainingConfig

CHILD = "PITGEO_PROCESS"
"""What pitgeo tells the processes it starts: rank, number of processes, port, and the first process."""


@dataclass(frozen=True)
class DistributedContext:
    """One process among those that train together.

    Args:
        rank: Its number, counted from 0 over all machines; the first one writes and evaluates.
        world: How many processes there are.
        local_rank: Its number on its machine, and that of its device.
        local_world: Processes of every machine.
        node: Number of the machine.
        launcher: Who started the processes; ``"pitgeo"`` also where they are still to be started.
        address: Host name of the first process.
        port: Where it listens; 0 where it chooses.
        parent: The process that started this one, if that is pitgeo; else 0.
    """

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    local_world: int = 1
    node: int = 0
    launcher: Literal["none", "pitgeo", "torchrun", "slurm"] = "none"
    address: str = "127.0.0.1"
    port: int = 0
    parent: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this process writes and evaluates."""
        return self.rank == 0

    @property
    def nodes(self) -> int:
        """Machines."""
        return self.world // self.local_world


def find_context(training: TrainingConfig) -> DistributedContext:
    """The context of this process by the environment that its launcher made.

    Started by torchrun, a configuration of one device takes as many processes as torchrun started.

    Raises:
        ValueError: If another number of processes was started than the configuration asks for.
    """
    wanted = training.devices * training.nodes
    env = os.environ
    if CHILD in env:
        rank, world, port, parent = (int(number) for number in env[CHILD].split())
        if wanted != world:
            raise ValueError(
                f"Expected every training of a script to take as many processes as its first with several, {world} "
                f"(got {wanted}); train with other numbers of devices in scripts of their own"
            )
        return DistributedContext(rank, world, rank, world, 0, "pitgeo", port=port, parent=parent)
    if "TORCHELASTIC_RUN_ID" in env:
        world, local_world = int(env["WORLD_SIZE"]), int(env["LOCAL_WORLD_SIZE"])
        if wanted not in (1, world) or (wanted > 1 and training.devices != local_world):
            raise ValueError(
                f"Expected training.devices = {local_world} and training.nodes = {world // local_world}, as torchrun "
                f"started (got {training.devices} and {training.nodes}); leave both at 1 to take what it starts"
            )
        if world == 1:
            return DistributedContext()
        rank, local_rank, node = int(env["RANK"]), int(env["LOCAL_RANK"]), int(env["GROUP_RANK"])
        address, port = env["MASTER_ADDR"], int(env["MASTER_PORT"])
        return DistributedContext(rank, world, local_rank, local_world, node, "torchrun", address, port)
    if wanted == 1:
        return DistributedContext()
    tasks = int(env.get("SLURM_STEP_NUM_TASKS", "1"))  # of srun: a batch script that goes without is one process
    if tasks > 1:
        return _slurm(training, tasks)
    if training.nodes > 1:
        raise ValueError(
            f"Expected torchrun or srun to start the processes on {training.nodes} machines (got none of them); see "
            f"docs/devices.md"
        )
    return DistributedContext(0, wanted, 0, wanted, 0, "pitgeo")


def require_one_process(training: TrainingConfig, purpose: str, advice: str) -> None:
    """Raise a ``ValueError`` where a configuration or a launcher asks for several processes."""
    if (world := find_context(training).world) > 1:
        raise ValueError(
            f"Expected one process, training.devices = training.nodes = 1, {purpose} (got {world}); {advice}"
        )


def _slurm(training: TrainingConfig, tasks: int) -> DistributedContext:
    env = os.environ
    nodes = int(env.get("SLURM_STEP_NUM_NODES", "1"))
    if (training.devices * training.nodes, training.nodes) != (tasks, nodes):
        raise ValueError(
            f"Expected training.devices x training.nodes = {tasks} on {nodes} machines, as srun started (got "
            f"{training.devices} x {training.nodes}); set both to what --ntasks-per-node and --nodes say"
        )
    hosts = env.get("SLURM_STEP_NODELIST", env.get("SLURM_NODELIST", "127.0.0.1"))
    address = env.get("MASTER_ADDR") or SLURMEnvironment.resolve_root_node_address(hosts)
    port = int(env.get("MASTER_PORT") or 15000 + int(env.get("SLURM_JOB_ID", "0")) % 10000)
    rank, local_rank, node = int(env["SLURM_PROCID"]), int(env["SLURM_LOCALID"]), int(env["SLURM_NODEID"])
    return DistributedContext(rank, tasks, local_rank, training.devices, node, "slurm", address, port)


class ContextEnvironment(ClusterEnvironment):
    """A context in Lightning's terms; the processes are there already.

    Args:
        context: The context.
    """

    def __init__(self, context: DistributedContext) -> None:
        super().__init__()
        self.context = context

    @property
    def creates_processes_externally(self) -> bool:
        """Lightning starts none."""
        return True

    @property
    def main_address(self) -> str:
        """Host name of the first process."""
        return self.context.address

    @property
    def main_port(self) -> int:
        """Where it listens."""
        return self.context.port

    @staticmethod
    def detect() -> bool:
        """It is never found, but given."""
        return False

    def world_size(self) -> int:
        """Processes."""
        return self.context.world

    def set_world_size(self, size: int) -> None:
        """It is set."""

    def global_rank(self) -> int:
        """The number of this process."""
        return self.context.rank

    def set_global_rank(self, rank: int) -> None:
        """It is set."""

    def local_rank(self) -> int:
        """Its number on its machine."""
        return self.context.local_rank

    def node_rank(self) -> int:
        """The number of its machine."""
        return self.context.node
