"""A WebRTC peer on GStreamer's webrtcbin: `publish URL CODEC TOKEN` or `watch URL CODEC`.

Prints a JSON line when media flows: ten video frames with their width, ten audio buffers with their rate, decoded.
"""

import json
import sys
import urllib.error
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

Gst.init(None)
# Common caps: no packetization-mode for H.264.
CAPS = {
    "h264": "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000",
    "vp8": "application/x-rtp,media=video,encoding-name=VP8,payload=96,clock-rate=90000",
    "opus": "application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000,encoding-params=(string)2",
}
VIDEO = {
    "h264": "openh264enc gop-size=30 ! rtph264pay config-interval=-1",
    "vp8": "vp8enc deadline=1 keyframe-max-dist=30 ! rtpvp8pay",
}
PICTURE = "videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate=15/1 ! videoconvert"
SOUND = "audiotestsrc is-live=true ! audioconvert ! audioresample ! opusenc ! rtpopuspay"
WEBRTC = "webrtcbin name=webrtc bundle-policy=max-bundle"


def say(**what):
    # One write: threads of the media library report too, and print writes the end of the line by itself.
    sys.stdout.write(json.dumps(what) + '\n')
    sys.stdout.flush()


def post(url, sdp, token):
    request = urllib.request.Request(url, data=sdp.encode(), method="POST")
    request.add_header("Content-Type", "application/sdp")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        say(refused=f"{error.code} {error.read().decode()}")
        sys.exit(1)


def negotiate(webrtc, url, token=""):
    def offered(promise):
        # The reply owns the memory of the offer.
        reply = promise.get_reply()
        offer = reply.get_value("offer")
        GLib.idle_add(answered, offer.sdp.as_text())
        webrtc.emit("set-local-description", offer, Gst.Promise.new())

    def answered(sdp):
        message = GstSdp.SDPMessage.new()[1]
        GstSdp.sdp_message_parse_buffer(post(url, sdp, token).encode(), message)
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message)
        webrtc.emit("set-remote-description", answer, Gst.Promise.new())

    webrtc.emit("create-offer", None, Gst.Promise.new_with_change_func(offered))


def publish(url, codec, token):
    video, audio = (f"{CAPS[name]} ! webrtc." for name in (codec, "opus"))
    pipeline = Gst.parse_launch(f"{WEBRTC} {PICTURE} ! {VIDEO[codec]} ! {video} {SOUND} ! {audio}")
    webrtc = pipeline.get_by_name("webrtc")
    connected = GstWebRTC.WebRTCPeerConnectionState.CONNECTED

    def changed(*_):
        if webrtc.get_property("connection-state") == connected:
            say(connected=True)

    webrtc.connect("notify::connection-state", changed)
    webrtc.connect("on-negotiation-needed", lambda _: negotiate(webrtc, url, token))
    for at in range(2):
        transceiver = webrtc.emit("get-transceiver", at)
        transceiver.set_property("direction", GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY)
    return pipeline


def watch(url, codec):
    pipeline = Gst.Pipeline.new()
    webrtc = Gst.parse_launch(WEBRTC)
    pipeline.add(webrtc)
    counts = {"video": 0, "audio": 0}

    def count(pad, _info, kind):
        counts[kind] += 1
        if counts[kind] == 10:
            shape = pad.get_current_caps().get_structure(0)
            say(**{kind: shape.get_value("width" if kind == "video" else "rate")})
        return Gst.PadProbeReturn.OK

    def decoded(_, pad):
        kind = pad.query_caps(None).get_structure(0).get_name().split("/")[0]
        sink = Gst.ElementFactory.make("fakesink")
        pipeline.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad("sink"))
        pad.add_probe(Gst.PadProbeType.BUFFER, count, kind)

    def arrived(_, pad):
        decoder = Gst.ElementFactory.make("decodebin")
        decoder.connect("pad-added", decoded)
        pipeline.add(decoder)
        decoder.sync_state_with_parent()
        pad.link(decoder.get_static_pad("sink"))

    webrtc.connect("pad-added", arrived)
    webrtc.connect("on-negotiation-needed", lambda _: negotiate(webrtc, url))
    for name in (codec, "opus"):
        direction = GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY
        webrtc.emit("add-transceiver", direction, Gst.Caps.from_string(CAPS[name]))
    return pipeline


pipeline = publish(*sys.argv[2:]) if sys.argv[1] == "publish" else watch(*sys.argv[2:])
pipeline.set_state(Gst.State.PLAYING)
GLib.MainLoop().run()
