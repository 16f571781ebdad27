// A relay on Pion, as its users write one: a local track passes the packets of one publisher to all viewers. With one core,
// one UDP port and AES-128-GCM, like the relay that it is compared with. `pion ADDRESS` prints the TCP port of the loopback
// at which it takes offers, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/pion/dtls/v2"
	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v3"
)

const bufferBytes = 4 << 20

type relay struct {
	api       *webrtc.API
	track     *webrtc.TrackLocalStaticRTP
	publisher atomic.Value
}

// The connection of the publisher, and the stream that viewers need keyframes of.
type source struct {
	connection *webrtc.PeerConnection
	ssrc       uint32
}

func main() {
	runtime.GOMAXPROCS(1)
	codec := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}
	track, err := webrtc.NewTrackLocalStaticRTP(codec, "video", "relay")
	check(err)
	forward := &relay{api: newAPI(os.Args[1]), track: track}
	http.HandleFunc("/publish", forward.answering(forward.publish))
	http.HandleFunc("/view", forward.answering(forward.view))
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() { log.Fatal(http.Serve(listener, nil)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func newAPI(address string) *webrtc.API {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(address)})
	check(err)
	check(socket.SetReadBuffer(bufferBytes))
	check(socket.SetWriteBuffer(bufferBytes))
	settings := webrtc.SettingEngine{}
	settings.SetICEUDPMux(webrtc.NewICEUDPMux(nil, socket))
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetSRTPProtectionProfiles(dtls.SRTP_AEAD_AES_128_GCM)
	media := &webrtc.MediaEngine{}
	check(media.RegisterDefaultCodecs())
	interceptors := &interceptor.Registry{}
	check(webrtc.RegisterDefaultInterceptors(media, interceptors))
	return webrtc.NewAPI(
		webrtc.WithMediaEngine(media),
		webrtc.WithInterceptorRegistry(interceptors),
		webrtc.WithSettingEngine(settings),
	)
}

func (r *relay) publish(connection *webrtc.PeerConnection) error {
	connection.OnTrack(func(remote *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		r.publisher.Store(source{connection, uint32(remote.SSRC())})
		for {
			packet, _, err := remote.ReadRTP()
			if err != nil {
				return
			}
			_ = r.track.WriteRTP(packet)
		}
	})
	return nil
}

func (r *relay) view(connection *webrtc.PeerConnection) error {
	sender, err := connection.AddTrack(r.track)
	if err != nil {
		return err
	}
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			r.askForKeyframe()
		}
	})
	go r.readReports(sender)
	return nil
}

func (r *relay) readReports(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		for _, packet := range packets {
			if _, asks := packet.(*rtcp.PictureLossIndication); asks {
				r.askForKeyframe()
			}
		}
	}
}

func (r *relay) askForKeyframe() {
	if from, is := r.publisher.Load().(source); is {
		_ = from.connection.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: from.ssrc}})
	}
}

// Answers the offer in a request, after `prepare` has done its part with the connection.
func (r *relay) answering(prepare func(*webrtc.PeerConnection) error) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		answer, err := r.answer(request.Body, prepare)
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(response, answer)
	}
}

func (r *relay) answer(body io.Reader, prepare func(*webrtc.PeerConnection) error) (string, error) {
	offer, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	connection, err := r.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return "", err
	}
	if err = prepare(connection); err != nil {
		return "", err
	}
	if err = connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: string(offer)}); err != nil {
		return "", err
	}
	answer, err := connection.CreateAnswer(nil)
	if err != nil {
		return "", err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err = connection.SetLocalDescription(answer); err != nil {
		return "", err
	}
	<-gathered
	return connection.LocalDescription().SDP, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
