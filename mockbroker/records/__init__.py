"""Record batches as a broker handles them: validation, offsets, timestamps, conversion of formats."""
