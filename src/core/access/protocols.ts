/** What rules, lists and limits need to know of a protocol. They test these facts, never the name. */
interface ProtocolFacts {
  /** What its clients do with a stream. */
  readonly action: 'publish' | 'view'
  /** As people write it. */
  readonly title: string
  /** A browser can speak it, which sends its `Origin`. */
  readonly hasOrigin: boolean
  /** `configured`: the operator says whether the address is checked, or a token with IP filters refused. */
  readonly ipFilters: 'checked' | 'configured'
  /** The media connection comes up after admission. */
  readonly connectsLater: boolean
  /** A media process serves its sessions. */
  readonly usesMediaProcess: boolean
  /** Its publishers send a keyframe when one is needed, and pictures when there are new ones. */
  readonly keyframesOnRequest: boolean
  /** Sluice dials, in the name of a token: any change of the token that would refuse it now ends it. */
  readonly isDialled: boolean
}

/** Every protocol of streams, in the order of lists. The compiler names what else a new one needs. */
export const PROTOCOL_FACTS = {
  whip: {
    action: 'publish',
    title: 'WHIP',
    hasOrigin: true,
    ipFilters: 'checked',
    connectsLater: true,
    usesMediaProcess: true,
    keyframesOnRequest: true,
    isDialled: false,
  },
  rtmp: {
    action: 'publish',
    title: 'RTMP',
    hasOrigin: false,
    ipFilters: 'configured',
    connectsLater: false,
    usesMediaProcess: false,
    keyframesOnRequest: false,
    isDialled: false,
  },
  srt: {
    action: 'publish',
    title: 'SRT',
    hasOrigin: false,
    ipFilters: 'checked',
    connectsLater: false,
    usesMediaProcess: false,
    keyframesOnRequest: false,
    isDialled: false,
  },
  pull: {
    action: 'publish',
    title: 'Pull',
    hasOrigin: false,
    ipFilters: 'checked',
    connectsLater: false,
    usesMediaProcess: false,
    keyframesOnRequest: false,
    isDialled: true,
  },
  whep: {
    action: 'view',
    title: 'WHEP',
    hasOrigin: true,
    ipFilters: 'checked',
    connectsLater: true,
    usesMediaProcess: true,
    keyframesOnRequest: false,
    isDialled: false,
  },
  hls: {
    action: 'view',
    title: 'HLS',
    hasOrigin: true,
    ipFilters: 'checked',
    connectsLater: false,
    usesMediaProcess: false,
    keyframesOnRequest: false,
    isDialled: false,
  },
} as const satisfies Record<string, ProtocolFacts>

export type Protocol = keyof typeof PROTOCOL_FACTS
export type ViewProtocol = {
  [P in Protocol]: (typeof PROTOCOL_FACTS)[P]['action'] extends 'view' ? P : never
}[Protocol]

export const PROTOCOLS = Object.keys(PROTOCOL_FACTS) as readonly Protocol[]

export const isViewProtocol = (protocol: Protocol): protocol is ViewProtocol =>
  PROTOCOL_FACTS[protocol].action === 'view'

export const PROTOCOLS_OF = {
  publish: PROTOCOLS.filter((protocol) => !isViewProtocol(protocol)),
  view: PROTOCOLS.filter(isViewProtocol),
} as const
