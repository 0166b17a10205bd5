"""Pictures that are kept: small, and the same to the eye."""

import asyncio

import numpy as np
from PIL import Image

from tests.acceptance.tour.pictures import COLOURS, shrink, take_pictures
from tests.unit.fabricscope.api.traffic import eventually, incident, publish_cluster
from tests.unit.traffic import publish_incidents


def test_a_picture_keeps_its_size_and_colours_near_its_own(tmp_path):
    shades = np.zeros((64, 256, 3), np.uint8)
    shades[..., 0] = shades[..., 1] = np.arange(256)
    shades[:, 128:, 2] = 255
    path = tmp_path / "picture.png"
    Image.fromarray(shades).save(path)
    shrink(path)
    with Image.open(path) as shrunk:
        kept = np.asarray(shrunk.convert("RGB")).astype(int)
    assert kept.shape == shades.shape
    assert len(np.unique(kept.reshape(-1, 3), axis=0)) <= COLOURS
    assert np.abs(kept - shades).max() <= 256 / COLOURS + 2


async def test_takes_the_page_an_incident_with_its_evidence_and_a_phone(api, bus, tmp_path):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    (tmp_path / "of-an-earlier-run.png").touch()
    await eventually(api.url, "/api/v1/incidents", bool)
    await asyncio.to_thread(take_pictures, api.url, {2: incident().id}, tmp_path)
    sizes = {}
    for path in tmp_path.glob("*.png"):
        with Image.open(path) as picture:
            sizes[path.name] = picture.size
    assert sizes.keys() == {"overview.png", "incident-2.png", "evidence-2.png", "phone.png"}
    assert sizes["overview.png"] == sizes["incident-2.png"] == (1920, 1080)
    assert sizes["phone.png"][0] == 390
    assert sizes["evidence-2.png"][0] < 1920
