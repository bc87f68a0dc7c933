"""Other operator models, on the same data by the same commands: one file each, with its options."""

from pitgeo.baselines.fno import FNO, FNOOptions, FNOPlusOptions
from pitgeo.baselines.galerkin import GalerkinOptions, GalerkinTransformer
from pitgeo.baselines.oformer import OFormer, OFormerOptions

__all__ = ["FNO", "FNOOptions", "FNOPlusOptions", "GalerkinOptions", "GalerkinTransformer", "OFormer", "OFormerOptions"]
