"""The icons of the pages, drawn on a grid of 16: the `d` of one path each, stroked in the colour of the text."""

from __future__ import annotations

ICONS = {
    "pause": "M5.5 3.5v9M10.5 3.5v9",
    "play": "M5 3.2v9.6l7.5-4.8z",
    "trash": "M2.8 4.5h10.4M6 4.5V2.8h4v1.7M4.3 4.5l.6 8.7h6.2l.6-8.7M6.8 7v3.8M9.2 7v3.8",
    "retry": "M13 8a5 5 0 1 1-1.6-3.7M13 2.6v2.6h-2.6",
    "clock": "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.6",
    "kill": "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4",
    "stop": "M4 4h8v8H4z",
    "moon": "M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2 5.4 5.4 0 1 0 12.8 9.6z",
    "search": "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.1 10.1l3.3 3.3",
    "warn": "M8 2.6 14 13H2zM8 6.4v3M8 11v.4",
    "check": "M3.2 8.4 6.6 12l6.2-7.6",
    "menu": "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
    "gear": "M3 4.5h6M12 4.5h1M3 8h1M7 8h6M3 11.5h5M11 11.5h2M10.5 3v3M5.5 6.5v3M9.5 10v3",
    "cog": "M8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8zM8 1.8v2.1M8 12.1v2.1M1.8 8h2.1M12.1 8h2.1"
    "M3.6 3.6l1.5 1.5M10.9 10.9l1.5 1.5M3.6 12.4l1.5-1.5M10.9 5.1l1.5-1.5",
    "left": "M10 3.5 5.5 8l4.5 4.5",
    "right": "M6 3.5 10.5 8 6 12.5",
}
