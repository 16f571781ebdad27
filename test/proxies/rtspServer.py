"""A camera of GStreamer's RTSP server: python3 rtspServer.py PORT PASSWORD. It prints `ready`."""
import sys

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

PIPELINE = (
    '( videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=15/1 ! openh264enc gop-size=15'
    ' ! rtph264pay name=pay0 pt=96 config-interval=1'
    ' audiotestsrc is-live=true ! audio/x-raw,rate=8000,channels=1 ! mulawenc ! rtppcmupay name=pay1 pt=0 )'
)

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address('127.0.0.1')
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(PIPELINE)
factory.set_shared(True)
token = GstRtspServer.RTSPToken()
token.set_string('media.factory.role', 'viewer')
auth = GstRtspServer.RTSPAuth()
auth.add_basic(GstRtspServer.RTSPAuth.make_basic('viewer', sys.argv[2]), token)
server.set_auth(auth)
permissions = GstRtspServer.RTSPPermissions()
permissions.add_permission_for_role('viewer', 'media.factory.access', True)
permissions.add_permission_for_role('viewer', 'media.factory.construct', True)
factory.set_permissions(permissions)
server.get_mount_points().add_factory('/camera', factory)
server.attach(None)
print('ready', flush=True)
GLib.MainLoop().run()
