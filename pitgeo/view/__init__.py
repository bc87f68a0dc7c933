"""A page to look at a trained model: its fields beside the truth, and sliders for the numbers of a mesh."""
