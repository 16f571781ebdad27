import { type Static, Type } from 'typebox'
import { filled, type ValuesArgument } from './sentence.ts'

/**
 * What Sluice says by itself: what needs attention, and how an engine does. A code stays when the words change; `{name}` stands
 * for a value. None ends with a full stop. The dashboard has these sentences in other languages.
 */
export const NOTICES = {
  /** From another part of Sluice, which has no code for it. */
  text: '{text}',
  server_full: 'The server takes no new viewers',
  node_full: 'The node {node} takes no new viewers',
  full_sessions: 'All sessions for viewers are taken (sessions.max)',
  full_media: 'Its media processes are busy',
  full_egress: 'It sends as much as server.maxEgressMegabits says',
  full_remedy: 'Those who watch go on. Add a node, or raise the limit',
  unlinked: 'Viewers at the node {to} are redirected to {from}',
  link_media_port:
    'Its media ports do not answer: open UDP between the nodes (webrtc.port), or correct webrtc.publicAddresses there',
  link_no_answer: 'It does not answer over HTTP: correct its server.nodeUrl, or the firewall',
  link_refused: 'It refuses the request: give both the same secrets.sealingKey and version',
  link_busy: 'It gets too many requests for streams at once, and is asked again after some seconds',
  link_lends_nothing: 'Its server.handover is redirect: set it to cascade there, or to redirect everywhere',
  engine: 'Engine {name}:',
  engine_fails: 'Engine {name} fails:',
  media_process_hung: 'A WebRTC process hung, was killed and was replaced',
  media_process_died: 'A WebRTC process died and was replaced',
  node_media_process_hung: 'A WebRTC process of the node {node} hung, was killed and was replaced',
  node_media_process_died: 'A WebRTC process of the node {node} died and was replaced',
  lost_session: '1 session ended with it',
  lost_sessions: '{sessions} sessions ended with it',
  look_into_log: 'If it happens again, look into the log',
  disk_low_database:
    'The disk of the database is nearly full: {gigabytes} GB are free. Delete recordings, or enlarge it',
  disk_low_recordings:
    'The disk of recordings is nearly full: {gigabytes} GB are free. Delete recordings, or enlarge it',
  recordings_closed:
    'Nothing can be recorded: the directory of recordings cannot be used ({code}). Bring its disk back, or correct recordings.dir',
  certificate_expired: 'The certificate has expired',
  certificate_expires: 'The certificate expires in {days} days',
  certificate_renew: 'Renew it, or see `sluice doctor` for what keeps it from being renewed',
  certificate_kept: 'The certificate was not replaced:',
  certificate_temporary: 'Clients refuse this server until it has its first certificate',
  certificate_file_missing: '{key}: {path} does not exist',
  certificate_file_forbidden: '{key}: {path} may not be used by this user',
  certificate_file_large: '{key}: {path} is larger than 1 MB',
  certificate_pair: 'tls.certFile {cert} and tls.keyFile {key}:',
  certificate_pair_differs: 'they do not belong together: the key is of another certificate',
  certificate_pair_passphrase: 'they have a key with a passphrase: write the key without one',
  certificate_pair_no_pem: 'they are not a PEM certificate and its PEM key, or were cut',
  certificate_pair_unusable: 'they cannot be used: {text}',
  certificate_new_expired: 'The new certificate has expired on {date}',
  /** Why an authority has issued none. */
  certificate_not_issued: 'No certificate:',
  authority_limit: '{host} has a rate limit',
  authority_status: '{host} answers with status {status}',
  authority_undecided: '{host} has not decided in time',
  authority_again: 'Sluice tries again by itself',
  authority_unreachable: '{host} cannot be reached ({code})',
  authority_unreachable_remedy: 'Check tls.acme.directoryUrl and that this machine may connect to it',
  authority_untrusted: '{host} has a certificate that is not trusted ({code}). Set tls.acme.caFile to its authority',
  authority_order_failed: 'The order failed',
  authority_domains: 'The domains must lead to this server, and port 80 to tls.redirectPort',
  schema_newer: 'A newer version of Sluice has changed the database ({migrations}). Upgrade this node',
  webhook_paused: 'The webhook to {host} is paused:',
  deliveries_failed: '{count} deliveries in a row failed; the last:',
  events_given_up: '{count} events in a row were given up; the last:',
  /** Why a request to another server failed. */
  request_target: 'the target {text}',
  request_not_public: 'the host leads to {address}, which is not a public address',
  request_name_not_found: 'the host name does not exist',
  request_name_server: 'the name server did not answer the question for the host name',
  request_connection_refused: 'the host refuses connections on this port',
  request_unreachable: 'the host cannot be reached',
  request_no_answer: 'the host did not answer',
  request_reset: 'the receiver closed the connection before its answer was complete',
  request_reset_tls: 'the host closed the connection in the TLS handshake',
  request_certificate_expired: 'the certificate has expired',
  request_certificate_not_yet_valid: 'the certificate is not valid yet',
  request_certificate_wrong_name: 'the certificate is for another host name',
  request_certificate_self_signed: 'the certificate is self-signed and not trusted',
  request_certificate_untrusted: 'the certificate was issued by an authority that is not trusted',
  request_tls: 'no secure connection could be made ({text})',
  request_answer_invalid: 'the answer is not valid HTTP',
  request_header_too_long: 'the header of the answer is too long',
  request_redirected: 'redirects are not followed (status {status})',
  request_status: 'the receiver answered with status {status}',
  request_stopped: 'the delivery was stopped',
  request_late_refused: 'the target was not checked within {seconds} s',
  request_late_resolve: 'the name server did not answer within {seconds} s',
  request_late_connect: 'the host did not accept a connection within {seconds} s',
  request_late_tls: 'the host did not complete the TLS handshake within {seconds} s',
  request_late_send: 'the receiver did not read the request within {seconds} s',
  request_late_answer: 'the receiver did not give a complete answer within {seconds} s',
  stream_stalled: 'No media of {stream} arrives',
  stream_impaired: '{stream}:',
  /** `finding` is a code of FINDINGS; `shown` and `of` are the values of its sentence. */
  finding: '{text}',
  more_findings: 'And {count} more',
  stream_uneven:
    '{stream} arrives unevenly, {lowest} to {highest} Mbit/s in five minutes. Set the publisher to a constant bitrate',
  countries_of_account: 'The account names countries, but there is no country database',
  countries_of_token: '1 token names countries, but there is no country database',
  countries_of_tokens: '{tokens} tokens name countries, but there is no country database',
  countries_remedy: 'No address passes or fails by its country. Set geoip.database',
  publish_token_expires: 'The publish token {label} expires on {date}',
  subscribe_token_expires: 'The subscribe token {label} expires on {date}',
  engine_slow: 'The machine cannot keep up with this engine: it encodes {speed} seconds of media a second',
  engine_behind: 'It is {seconds} s behind its source',
  engine_dropped: 'It has left out {frames} frames',
  engine_leaves_out:
    'To keep up, this engine leaves out {renditions} until it is started again, or has had room for {minutes} minutes',
  engine_halves_frames:
    'To keep up, this engine leaves out every second frame of {renditions} until it is started again, or has had room for {minutes} minutes',
  engine_leaves_out_and_halves:
    'To keep up, this engine leaves out {renditions} and every second frame of {thinned} until it starts again or has had room for {minutes} minutes',
  engine_too_much:
    'This machine may not keep up with what is started: it needs about {needed} processors, and engines that run need about {used} of {cores}',
  engine_needs_less: 'Smaller or fewer renditions need less',
  engine_process_gone: 'its process is gone',
  engine_without_ingest: 'its ingest does not exist any more',
  engine_without_ladder: 'its ABR ladder does not exist any more',
  engine_not_started: 'it could not be started: {text}',
  ffmpeg_missing: 'There is no program {program}: install ffmpeg, or name it with ffmpeg.path',
  ffmpeg_busy: '{processes} ffmpeg processes are running, which is as many as ffmpeg.maxProcesses allows',
  ffmpeg_share:
    'This account runs three quarters of the ffmpeg processes that ffmpeg.maxProcesses allows, and leaves the others to other accounts',
  ffmpeg_killed: 'ffmpeg was killed (SIGKILL), as the system does when memory runs out',
  ffmpeg_terminated: 'ffmpeg was ended from outside (SIGTERM)',
  ffmpeg_ended: 'ffmpeg ended with {status}',
  ffmpeg_ended_saying: 'ffmpeg ended with {status}: {text}',
  server_stopping: 'The server is stopping',
  publisher_cut: 'A publisher was cut:',
  publisher_silent: 'No audio or video came for too long',
  publisher_silent_because: 'No audio or video came for too long:',
  source_gone: 'The source is gone',
  source_not_in_ladder:
    'The source has no video, and the ABR ladder of this engine has no audio, so there is nothing to play',
  source_silent: 'The source gives no media; it is dialled again at least every {seconds} s:',
  source_given_up:
    'Sluice does not dial the source any more, which has refused it {times} times; mend it, then start the channel again:',
  /** Why a source gives no media. */
  source_failed_here: 'Sluice failed; its log says more',
  source_address_not_allowed:
    'The host leads to an address that no source may have: of this server, or of a network that `media.allowedNetworks` lacks',
  target_address_not_allowed:
    'The host leads to an address that no target may have: of this server, or of a network that `media.allowedNetworks` lacks',
  source_no_answer: 'The source did not answer in time',
  source_no_answer_because: 'The source gave no answer:',
  source_no_media: 'The source has sent no media for {seconds} s',
  source_nothing_sent: 'The source has sent nothing for {seconds} s',
  source_closed: 'The source has closed the connection',
  source_ended: 'The source says that its stream has ended',
  source_redirects: 'The source redirects to another address, which is not followed',
  source_wants_login: 'The source wants a user and a password',
  source_refuses_login: 'The source refuses the user or the password',
  source_refuses_access: 'The source refuses access ({status})',
  source_no_path: 'The source has nothing under this path (404)',
  source_no_stream: 'The source has no such stream (404)',
  source_no_codec: 'The source has the stream in no codec that Sluice takes (406)',
  source_not_on_air: 'The stream is not on the air at the source (409)',
  source_refuses_session: 'The source refuses the login ({status})',
  source_status: 'The source answered with status {status}',
  target_no_answer_because: 'The target gave no answer:',
  target_refuses_session: 'The target refuses the login ({status})',
  target_status: 'The target answered with status {status}',
  target_no_endpoint: 'The target has no such endpoint (404)',
  target_no_codec: 'The target takes none of our codecs (406)',
  target_in_use: 'Another publisher has the stream at the target (409)',
  its_words: 'It says: {text}',
  source_answers: 'The source answers {text}',
  source_says: 'The source says: {text}',
  source_stopped_because: 'The source has ended: {text}',
  source_no_media_because: 'The source gives no media: {text}',
  source_no_tracks: 'The source has no video and no audio',
  source_video_codec: 'The source sends video as {codec}; set it to H.264 or H.265',
  video_codec_unsupported: 'Video codec {codec} is not supported; send {supported} or {last}',
  video_codec_only: 'Video codec {codec} is not supported; send {supported}',
  audio_codec_unsupported: 'Audio codec {codec} is not supported; send {supported} or {last}',
  audio_codec_only: 'Audio codec {codec} is not supported; send {supported}',
  codec_as_in_ts: '{codec} as in MPEG-TS is not supported; send it as in MP4',
  video_tracks_form: 'A message with video tracks in form {form} is not supported; send OneTrack',
  audio_tracks_form: 'A message with audio tracks in form {form} is not supported; send OneTrack',
  opus_channels: 'Opus with {channels} channels is not supported; send 2',
  video_tracks_too_many: 'More than {most} video tracks are not supported; send {most} at most',
  video_tracks_mixed:
    'Video tracks of several codecs are not supported: track {track} is {codec}, and track {other} {otherCodec}; send one codec in all of them',
  ts_scrambled: 'The transport stream is scrambled; send it without',
  ts_programs: 'The transport stream has several programs; send one',
  ts_no_program: 'No MPEG transport stream with a program came',
  ts_no_media: 'The program of the transport stream has no video or audio',
  ts_none_listed: 'The program of the transport stream has no video, and none of the listed audio tracks',
  source_ended_session: 'The source has ended the session',
  peer_silent: 'The other side no longer answers',
  peer_no_answer: 'The other side did not answer in time',
  peer_refuses_port: 'The host refuses connections on this port',
  peer_closed: 'The other side closed the connection',
  source_does_not_read: 'The source does not read what it is sent',
  source_not_rtmp: 'What the source sends is not RTMP: {text}',
  source_sends_commands: 'The source sends too many commands',
  target_sends_commands: 'The target sends too many commands',
  source_redirects_odd: 'The source redirects to an address that is not followed',
  source_no_sdp: 'The source did not answer with SDP',
  source_answer_unusable: 'The answer of the source cannot be used: {text}',
  source_unproved: 'The source did not prove that it made the answer, or the handshake failed',
  pull_not_allowed: 'The publish token does not allow it: {text}',
  publisher_replaced: 'Replaced by another publisher of the same stream',
  /** Why a broadcast was ended. */
  cut: 'The broadcast was ended by the server',
  cut_token_gone: 'Unauthorized: Invalid token',
  cut_token_edited: 'Unauthorized: The token was changed and no longer allows this broadcast',
  cut_token_expired: 'Unauthorized: Token expired',
  cut_kicked: 'The broadcast was ended by the server: its session was ended through the API',
  cut_stopped: 'The broadcast was ended by the server: the stream was stopped',
  cut_reprioritized: 'The broadcast was ended by the server: its token got another priority; connect again',
  cut_moved: 'This server is about to stop; connect again',
  cut_shutdown: 'The server is stopping; connect again',
  cut_lost: 'The server lost track of this broadcast; connect again',
  /** Why a target takes no media. */
  target_closed: 'The target closed the connection',
  target_no_answer: 'The target did not answer in time',
  target_does_not_read: 'The target does not read what it is sent',
  target_silent: 'Nothing was heard of the target for {seconds} s',
  target_moves: 'The target asks to connect again',
  target_says: 'The target says: {text}',
  target_answers: 'The target answers {text}',
  target_not_rtmp: 'The answer of the target is not RTMP: {text}',
  target_not_rtsp: 'The target does not speak RTSP',
  target_no_tcp: 'The target takes no media over the connection of RTSP',
  target_redirects: 'The target redirects to another address, which is not followed',
  target_redirects_odd: 'The target redirects to an address that is not followed',
  target_wants_login: 'The target wants a user and a password',
  target_refuses_login: 'The target refuses the user or the password',
  target_refuses_access: 'The target refuses access ({status})',
  target_none_of_codecs: 'The target takes none of these codecs (415)',
  target_other_tracks: 'The broadcast has other tracks than before',
  target_other_offer: 'The stream has other tracks now, and the target needs another offer',
  target_no_sdp: 'The target did not answer with SDP',
  target_answer_unusable: 'The answer of the target cannot be used: {text}',
  target_unproved: 'The target did not prove that it made the answer, or the handshake failed',
  target_ended_session: 'The target has ended the session',
  target_media_not_converted: 'The media cannot be converted: {text}',
  video_not_for_rtmp: 'The video is {codec}, and RTMP takes H.264: `transcode` encodes it again',
  video_not_for_target:
    'The video is {codec}, and this target does not say that it takes {codec}: `transcode` encodes it again',
  audio_not_for_rtmp: 'The audio is {codec}, and RTMP takes AAC',
  video_not_for_ts: 'The video is {codec}, and MPEG-TS takes H.264 or HEVC: `transcode` encodes it again',
  audio_not_for_ts: 'The audio is {codec}, and MPEG-TS takes AAC or Opus: `transcode` encodes it again',
  aac_not_for_ts: 'The audio is a kind of AAC that MPEG-TS does not carry: `transcode` encodes it again',
  video_not_for_whip: 'Targets over WHIP get H264 and Opus, and the video is {codec}',
  audio_not_for_whip: 'Targets over WHIP get H264 and Opus, and the audio is {codec}',
  server_not_rtmp: 'The server does not speak RTMP: its answer begins with {byte}',
  /** With what an SRT listener refuses. */
  srt_no_reason: 'The other side refuses the stream without a reason (SRT code {code})',
  srt_no_room: 'The other side has no room for a further connection (SRT code {code})',
  srt_version: 'The other side speaks another version of SRT (SRT code {code})',
  srt_passphrase: 'The other side has another passphrase (SRT code {code})',
  srt_encryption: 'The other side demands encryption, or takes none: check the passphrase (SRT code {code})',
  srt_files: 'The other side takes files, and no live media (SRT code {code})',
  srt_filter: 'The other side wants a packet filter, such as FEC (SRT code {code})',
  srt_group: 'The other side wants several bonded connections (SRT code {code})',
  srt_stream_id: 'The other side does not understand the stream id (SRT code {code})',
  srt_key: 'The other side does not accept the key in the stream id (SRT code {code})',
  srt_overload: 'The other side has too much to do (SRT code {code})',
  srt_forbidden: 'The other side does not allow this stream (SRT code {code})',
  srt_not_found: 'The other side does not know this stream (SRT code {code})',
  srt_no_streams: 'The other side does not take streams under this stream id (SRT code {code})',
  srt_in_use: 'The stream is in use at the other side (SRT code {code})',
  srt_refused: 'The other side refuses the connection (SRT code {code})',
  /** Why there is no backup. */
  backup_no_room:
    'the disk of {folder} has {free} MB left, and this needs {needed} MB: make room, or choose another disk',
  backup_store: '{text}: {path}',
  backup_exists: '{path} exists; choose another name, or delete it first',
  backup_no_folder: 'the directory of {path} does not exist',
  backup_forbidden: '{path} may not be used by this user',
  backup_disk_full: 'the disk is full: {path} was not written',
  backup_unusable: '{path} cannot be used: {text}',
  backup_failed: 'the backup failed: {text}',
  backup_broken_off: 'the backup was broken off',
  /** Why a recording has no file, or ended before its broadcast. */
  recording_formats: 'the broadcast changes its format too often',
  recording_not_written: 'the recording cannot be written: {text}',
  recording_disk_full: 'the disk is full: less is free than recordings.minFreeMegabytes asks for',
  recording_empty: 'nothing was recorded',
  recording_away: 'its files are not there; if their disk is not mounted, mount it, and the recording is finished',
  recording_restored: 'the database was restored from a backup of this moment',
  /** Why a delivery has not arrived, where no request failed. */
  delivery_paused: 'the webhook was disabled:',
  delivery_webhook_inactive: 'the webhook was deactivated',
  delivery_webhook_gone: 'the webhook was deleted',
  delivery_unprepared: 'it could not be prepared: {text}',
  delivery_broken_off: 'broken off: {text}',
  delivery_result_lost: 'the server stopped before the answer was recorded; the receiver may have it',
  delivery_restored: 'restored from a backup before it was sent; the original server may have sent it',
} as const satisfies Record<string, string>

export type NoticeCode = keyof typeof NOTICES

/** A sentence of this table as data. */
export const CodedSentence = Type.Object({
  code: Type.String({ description: 'Of the sentence; `text`: it has none. Versions add some.' }),
  values: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
    description: 'What stands in the sentence.',
  }),
})
export type CodedSentence = Readonly<Static<typeof CodedSentence>>

export const coded = <Code extends NoticeCode>(
  code: Code,
  ...[values]: ValuesArgument<(typeof NOTICES)[Code]>
): CodedSentence => ({ code, values: values ?? {} })

/** What is said of something: as text, and as data where it has codes. */
export interface Said {
  readonly message: string
  /** The same as `message`; absent: it has no codes. */
  readonly sentences?: readonly CodedSentence[]
}

export const say = (...sentences: readonly CodedSentence[]): Said => ({ message: noticeText(sentences), sentences })

/** What is said, sentence by sentence. */
export const sentencesOf = ({ message, sentences = [] }: Said): readonly CodedSentence[] =>
  sentences.length === 0 ? [coded('text', { text: message })] : sentences

/** What an answer says in the member `name` and, as data, in the one beside it. Empty: nothing is said. */
export const saidAs = <Name extends string>(name: Name, said: Said | null): SaidMembers<Name> =>
  (said === null
    ? {}
    : {
        [name]: said.message,
        ...(said.sentences?.length ? { [`${name}Sentences`]: [...said.sentences] } : {}),
      }) as SaidMembers<Name>

type SaidMembers<Name extends string> = { readonly [M in Name]?: string } & {
  readonly [M in `${Name}Sentences`]?: CodedSentence[]
}

/** Of the member beside a text. */
export const saidAsData = () => Type.Array(CodedSentence, { description: 'The same as data, where it has codes.' })

/** The sentences as one text. */
export const noticeText = (sentences: readonly CodedSentence[]): string =>
  sentences.reduce((text, { code, values }) => joined(text, filled(BY_CODE[code] ?? '', values)), '')

/** A newer node of the cluster may write a code that is not there. */
const BY_CODE: Partial<Record<string, string>> = NOTICES

/** A colon or a full stop at the end leads on by itself. */
function joined(text: string, next: string): string {
  if (text === '') return next
  return /[.:]$/.test(text) ? `${text} ${next}` : `${text}. ${next}`
}
