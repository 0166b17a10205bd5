"""Files of series that people have scored: each row is scored, left out with a reason, or the file is refused."""

import zlib
from tempfile import NamedTemporaryFile

from analytics.offline.columns import Choice
from analytics.offline.score import TableScorer
from analytics.offline.tables import open_table
from common.errors import BadInput

SEEDS = (
    b"time,value\n2024-01-01,1\n2024-01-02,2.5\n2024-01-03,2\n2024-01-04,1,5\n2024-01-05,1\n2024-01-0",
    b"timestamp,host,cpu,mem\n1704067200,a,1.5,NaN\n1704067200,b,2,NaN\n1704067260,a,1,inf\n1704067260,b,2,-\n",
    "sep=;\nDatum;Wert;Ort\n29.03.2026 01:59;1,5;'Köln'\n29.03.2026 03:00;2,5;\"a\nb\"\n25.10.2026 02:30;3\n".encode(),
    b"at\tp\n2026-10-25T02:30 Europe/Berlin\t45 %\n2026-10-25T02:30 Europe/Berlin\t46 %\n2026-01-01T00:00 UTC\t1 %\n",
    b"Thu Feb 29 00:00:00 UTC 2024|1,234.5\nFri Mar 1 00:00:00 UTC 2024|1.234,5\n9999-12-31|2\n",
    "time,value\n2024-01-01T00:00:00Z,1\n".encode("utf-16"),
    zlib.compress(b"time,value\n1,2\n3,4\n", wbits=31),
)
EXECUTIONS = 200


def target(data: bytes) -> None:
    if data.startswith(b"PAR1"):  # Parquet is polars' own
        return
    with NamedTemporaryFile(suffix=".csv") as file:
        file.write(data)
        file.flush()
        for choice in (Choice(), Choice(wide=True, zone="Europe/Berlin")):
            try:
                with open_table(file.name, 1000) as table:
                    scorer = TableScorer(table, choice)
                    rows = [part.rows.height for part in scorer.scored()]
            except BadInput:
                continue
            assert sum(rows) == scorer.rows
            assert scorer.order.late <= scorer.rows
            assert bool(table.left_out.rows) == bool(table.left_out.first)
