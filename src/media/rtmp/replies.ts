import { amfObject, type AmfValue } from './amf0.ts'
import { AUDIO_FOURCCS, VIDEO_FOURCCS } from './enhanced.ts'
import { RECONNECT_REQUEST, RECONNECTS } from './reconnect.ts'
import { commandMessage, controlMessage, EVENT, type Message, MESSAGE, peerBandwidth, userControl } from './messages.ts'

/** The message stream that `createStream` returns; one is enough to publish. */
export const STREAM_ID = 1
/** Bytes that may be sent before an acknowledgement, in both directions. */
export const WINDOW_BYTES = 2_500_000

/** The version and capabilities that publishers expect of a server. */
const SERVER = amfObject({ fmsVer: 'FMS/3,0,1,123', capabilities: 31 })

/** Answers to commands (RTMP 1.0 section 7.2). */
export const connected = (transaction: number): Message[] => [
  controlMessage(MESSAGE.windowSize, WINDOW_BYTES),
  peerBandwidth(WINDOW_BYTES),
  commandMessage(0, '_result', transaction, SERVER, connectedInfo),
]

/** Of enhanced RTMP: Sluice decodes a codec where viewers need another one, and passes it on elsewhere. */
const CAN_DECODE_AND_FORWARD = 0x01 | 0x04
const infoMap = (fourccs: readonly string[]) =>
  amfObject(Object.fromEntries(fourccs.map((fourcc) => [fourcc, CAN_DECODE_AND_FORWARD])))
/** It reads messages of several tracks, extensions in front of packet types, and the nanoseconds in them. */
const MULTITRACK_MOD_EX_AND_NANOSECONDS = 0x02 | 0x04 | 0x08

/** What Sluice takes, as a server and as a client that plays. */
export const ENHANCED = {
  capsEx: MULTITRACK_MOD_EX_AND_NANOSECONDS,
  fourCcList: [...VIDEO_FOURCCS, ...AUDIO_FOURCCS],
  videoFourCcInfoMap: infoMap(VIDEO_FOURCCS),
  audioFourCcInfoMap: infoMap(AUDIO_FOURCCS),
} as const

const connectedInfo = amfObject({
  level: 'status',
  code: 'NetConnection.Connect.Success',
  description: 'Connection succeeded.',
  objectEncoding: 0,
  ...ENHANCED,
  capsEx: ENHANCED.capsEx | RECONNECTS,
})

export const result = (transaction: number, value: AmfValue): Message[] => [
  commandMessage(0, '_result', transaction, null, value),
]

export const unknownCommand = (transaction: number, name: string): Message[] => [
  commandMessage(0, '_error', transaction, null, statusOf('error', 'NetConnection.Call.Failed', `No command ${name}`)),
]

export const publishing = (): Message[] => [
  userControl(EVENT.streamBegin, STREAM_ID),
  onStatus('status', 'NetStream.Publish.Start', 'Publishing.'),
]

export const unpublished = (): Message[] => [onStatus('status', 'NetStream.Unpublish.Success', 'Unpublished.')]

/** Enhanced RTMP version 2, "Reconnect Request". @param tcUrl null: the one that the client has */
export const reconnect = (tcUrl: string | null): Message[] => {
  const [code, description] = [RECONNECT_REQUEST, 'This server is about to stop']
  const remote = tcUrl === null ? {} : { tcUrl }
  return [commandMessage(0, 'onStatus', 0, null, amfObject({ level: 'status', code, description, ...remote }))]
}

export const publishRefused = (code: string, description: string): Message[] => [onStatus('error', code, description)]

const onStatus = (level: string, code: string, description: string): Message =>
  commandMessage(STREAM_ID, 'onStatus', 0, null, statusOf(level, code, description))

const statusOf = (level: string, code: string, description: string) => amfObject({ level, code, description })
