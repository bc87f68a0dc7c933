"""A network compiled without a graph break, trained on batches of meshes of several sizes."""

import torch
from torch_geometric.loader import DataLoader

from pitgeo import PiT, PointData
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh

graphs = AttentionGraphs(encoder=0.1, decoder=0.2)
transform = Compose((LatentMesh("farthest", number=16), graphs))
meshes = [transform(PointData(pos=torch.rand(size, 2), x=torch.rand(size, 1))) for size in (60, 70, 80, 90)]
model = PiT(in_channels=3, out_channels=1, channels=16, heads=2, graphs=graphs)
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")  # leave the backend out for fast code
for batch in DataLoader(meshes, batch_size=2):
    compiled(model.prepare(batch)).square().mean().backward()
