"""Several runs that differ in their seeds, and what their disagreement tells."""

from __future__ import annotations

import functools
import json
import logging
from pathlib import Path
from typing import Any

from pitgeo.config.config import RunConfig, parse_config
from pitgeo.evaluation.calibration import calibrate, evaluate_ensemble
from pitgeo.prediction.ensemble import Ensemble, read_ensemble
from pitgeo.prediction.predictor import load
from pitgeo.training import require_one_process, torch_device
from pitgeo.workflows.run import train
from pitgeo.workflows.run_data import RunData, read_data
from pitgeo.workflows.run_folder import claim, finished

log = logging.getLogger(__name__)


def train_ensemble(
    config: RunConfig,
    output: Path,
    members: int,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> dict[str, Any]:
    """Train members one after the other, calibrate their spread, and evaluate them together on the test set.

    Member ``k`` is an ordinary run with the seed ``training.seed + k``, in the folder ``member_<k>``. They share the
    data, which are read once.

    Args:
        config: The run of the first member.
        output: Folder of the ensemble.
        members: How many; with ``resume`` there may be more than before.
        resume: Go on where an earlier call stopped: finished members are kept.
        overwrite: Delete an earlier ensemble's files in the folder.
        progress: Show bars on the standard error stream.

    Returns:
        What ``ensemble.json`` holds.

    Raises:
        ValueError: If there are fewer than two members or several devices, or the folder holds another run.
        FileNotFoundError: If there is nothing to resume.
        InterruptionError: If SIGINT or SIGTERM arrived while a member was trained; its ``last.ckpt`` has been written.
        NonFiniteError: If the loss or a weight became NaN or infinite.
    """
    if members < 2:
        raise ValueError(f"Expected at least 2 members of an ensemble (got {members}); leave 'members' out for one")
    require_one_process(config.training, "with 'members'", "set both to 1, and start it without torchrun")
    seeds = [config.training.seed + number for number in range(members)]
    configs = [parse_config(config.plain(), [f"training.seed={seed}"]) for seed in seeds]
    folders = [output / f"member_{number}" for number in range(members)]
    if resume:
        claim(configs[0], folders[0], resume, overwrite)
    else:
        _claim_all(config, output, overwrite)
    was_finished = resume and all(finished(*pair) is not None for pair in zip(configs, folders, strict=True))

    @functools.cache
    def data() -> RunData:
        return read_data(config, progress)

    checkpoints = []
    for number, (own, folder) in enumerate(zip(configs, folders, strict=True)):
        log.info("Member %d of %d, seed %d", number + 1, members, own.training.seed)
        is_begun = resume and (folder / "last.ckpt").exists()
        checkpoints.append(train(own, folder, is_begun, False, progress, lambda *_: data()).checkpoint)
    if was_finished and (result := _finished(output, checkpoints)) is not None:
        log.info("The ensemble in %s has finished already; nothing is left to do", output)
        return result
    device = torch_device(config.training.device)
    ensemble = Ensemble([load(checkpoint, device) for checkpoint in checkpoints], path=output / "ensemble.json")
    log.info("Calibrating and evaluating %d members", members)
    ensemble.calibration = calibrate(ensemble, progress)
    return evaluate_ensemble(ensemble, output, "test", progress)


def _claim_all(config: RunConfig, output: Path, overwrite: bool) -> None:
    """Refuse a folder that holds another run or ensemble, or delete what it left, of all members."""
    claim(config, output, False, overwrite)
    for folder in sorted(path for path in output.glob("member_*") if path.is_dir()):
        claim(config, folder, False, overwrite)
        if not any(folder.iterdir()):
            folder.rmdir()


def _finished(output: Path, checkpoints: list[Path]) -> dict[str, Any] | None:
    """What a finished ensemble of these members left: the test set is not touched again."""
    path = output / "ensemble.json"
    try:
        if read_ensemble(path)[0] != checkpoints:
            return None
    except (FileNotFoundError, ValueError):
        return None
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result if result.get("split") == "test" else None
