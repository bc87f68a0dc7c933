"""Fast paths of position-attention: sums over edges, fused and dense products, an expansion. Tests have slow twins."""
