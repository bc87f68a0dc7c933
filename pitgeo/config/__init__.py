"""The configuration of a run, and its messages."""

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.config.config import RunConfig, load_config

__all__ = ["RunConfig", "load_config"]

__getattr__ = lazy_names(__name__, {"RunConfig": "config", "load_config": "config"})
