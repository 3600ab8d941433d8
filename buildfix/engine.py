"""Start the engine, send it one request, decode the records that it streams back.

The protocol is described in docs/protocol.md; this is the only module that speaks it.
"""

from __future__ import annotations
