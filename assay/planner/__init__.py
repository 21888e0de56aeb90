"""What a run over many GPUs will need and take, from shapes alone: `assay plan`. Nothing here imports torch."""
