"""A WebRTC peer outside a browser: `publish URL TOKEN` or `watch URL`. Prints a JSON line when media flows: ten video frames with
their width, ten audio frames with their samples, decoded.
"""

import asyncio
import json
import sys
import urllib.request

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaPlayer
from aiortc.mediastreams import MediaStreamError


def post(url, sdp, token):
    request = urllib.request.Request(url, data=sdp.encode(), method="POST")
    request.add_header("Content-Type", "application/sdp")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


async def negotiate(pc, url, token=""):
    await pc.setLocalDescription(await pc.createOffer())
    answer = await asyncio.to_thread(post, url, pc.localDescription.sdp, token)
    await pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))


def say(**what):
    # One write: threads of the media library report too, and print writes the end of the line by itself.
    sys.stdout.write(json.dumps(what) + '\n')
    sys.stdout.flush()


async def publish(url, token):
    pc = RTCPeerConnection()
    video = MediaPlayer("testsrc2=size=640x360:rate=15", format="lavfi")
    audio = MediaPlayer("sine=frequency=440:sample_rate=48000", format="lavfi")
    pc.addTrack(video.video)
    pc.addTrack(audio.audio)
    await negotiate(pc, url, token)
    while pc.connectionState != "connected":
        await asyncio.sleep(0.05)
    say(connected=True)
    await asyncio.Event().wait()


def size(frame):
    """Pixels across, or samples."""
    return getattr(frame, "width", None) or frame.samples


async def watch(url):
    """The usual offer: both media, whatever the stream has."""
    pc = RTCPeerConnection()
    counts = {"video": 0, "audio": 0}

    async def count(track):
        try:
            while True:
                frame = await track.recv()
                counts[track.kind] += 1
                if counts[track.kind] == 10:
                    say(**{track.kind: size(frame)})
        except MediaStreamError:
            pass

    pc.on("track", lambda track: asyncio.ensure_future(count(track)))
    pc.addTransceiver("video", direction="recvonly")
    pc.addTransceiver("audio", direction="recvonly")
    await negotiate(pc, url)
    await asyncio.Event().wait()


asyncio.run(publish(*sys.argv[2:]) if sys.argv[1] == "publish" else watch(*sys.argv[2:]))
