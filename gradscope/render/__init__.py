"""How to write what there is to show: one format per file, listed in `formats` and `report_formats`."""
