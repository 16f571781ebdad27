import { httpPort } from '../base/httpPort.ts'
import { liveAddressList } from '../base/addressList.ts'
import { Starts, type Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { SampledLog } from '../base/sampledLog.ts'
import { Sealer } from '../base/sealer.ts'
import { Tally } from '../base/tally.ts'
import { refuseViewerKey } from '../base/viewerKey.ts'
import type { Context } from '../commands/context.ts'
import { emitHealth } from '../commands/streams/emitHealth.ts'
import { openTokenValue } from '../commands/tokens/tokenValue.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { parseAddress } from '../core/access/address.ts'
import type { TargetPolicy } from '../core/restream/targets.ts'
import { SessionSlots } from '../core/sessions/slots.ts'
import { checkTarget } from '../core/webhooks/target.ts'
import { SessionRegistry } from '../media/sessionRegistry.ts'
import { AccessRecorder } from '../services/accessRecorder.ts'
import { AccountMinutes } from '../services/accountMinutes.ts'
import { AudienceNow } from '../services/audienceNow.ts'
import { LastUses } from '../services/lastUses.ts'
import { LatestThumbnails } from '../services/latestThumbnails.ts'
import { MediaProcesses } from '../services/mediaProcesses.ts'
import { NodeLoad } from '../services/nodeLoad.ts'
import { PlayerReports } from '../services/playerReports.ts'
import { RestreamUsage } from '../services/restreamUsage.ts'
import { SessionStarts } from '../services/sessionStarts.ts'
import { StreamMeter } from '../services/streamMeter.ts'
import { ViewerFeedback } from '../services/viewerFeedback.ts'
import { AccessCache } from '../store/cached.ts'
import { cascadeOf } from './cascade.ts'
import { CountryLookup } from './countryLookup.ts'
import { derivationsOf, viewerSeed } from './derivedKeys.ts'
import type { Keyring } from './keyring.ts'
import { slateProbeOf } from './slates.ts'

export interface ContextParts
  extends Pick<Context, 'store' | 'clock' | 'time' | 'random' | 'log' | 'passwordCost' | 'channelChanged'> {
  /** The present configuration. */
  readonly now: () => Config
  readonly keys: Keyring
  readonly countries: CountryLookup
}

/** Creates what commands work with. Nothing of it has started. */
export function contextOf({ now, keys, countries, ...parts }: ContextParts): Context {
  const { store, clock, random, log } = parts
  const sealer = new Sealer(keys, random)
  const cache = new AccessCache({ store, clock, log, ...cacheOptions(now, sealer) })
  const sessions = new SessionRegistry(clock.monotonic())
  return {
    ...parts,
    cache,
    sampled: sampledLogs(log, clock),
    sealer,
    recorder: new AccessRecorder({ store, clock, random, log, limits: liveView(() => now().access.log) }),
    deliveries: new Tally(),
    reloads: new Tally(),
    ...settingsOf(now, clock, sessions),
    probeSlate: slateProbeOf(now(), clock, log),
    ...factsOfCountries(countries),
    sessions,
    ...metersOf(clock, sessions, viewerSeed(keys[0]), now),
    streamsOnAir: (account, stream) => sessions.feeds.onAir(account, stream),
    ...derivationsOf(keys),
    ...cascadeOf({ clock, random, log, sessions, cache, store }, keys, now),
  }
}

const factsOfCountries = (countries: CountryLookup): Pick<Context, 'countryOf' | 'hasCountries'> => ({
  countryOf: (address) => countries.countryOf(address.text),
  hasCountries: () => countries.isThere,
})

const metersOf = (
  clock: Clock,
  sessions: SessionRegistry,
  seed: number,
  now: () => Config,
): Pick<
  Context,
  | 'lastUses'
  | 'streamMeter'
  | 'latestThumbnails'
  | 'accountMinutes'
  | 'audience'
  | 'restreamUsage'
  | 'mediaProcesses'
  | 'playerReports'
  | 'viewerFeedback'
  | 'runStarts'
> => ({
  lastUses: new LastUses(),
  streamMeter: new StreamMeter({ clock, sessions, tell: emitHealth }),
  latestThumbnails: new LatestThumbnails(sessions.feeds),
  accountMinutes: new AccountMinutes({ clock, sessions }),
  audience: new AudienceNow(clock, seed),
  restreamUsage: new RestreamUsage(clock),
  mediaProcesses: new MediaProcesses(clock),
  playerReports: new PlayerReports(clock, () => now().analytics.playerReports),
  viewerFeedback: new ViewerFeedback(clock),
  runStarts: new Starts(),
})

const cacheOptions = (now: () => Config, sealer: Sealer) => ({
  openValue: (valueSealed: Uint8Array) => openTokenValue({ sealer }, { valueSealed }),
  maxEntries: now().access.cacheTokens,
  staleMs: () => now().access.staleSeconds * 1000,
})

/** What commands need of the configuration, as it is at each use. */
function settingsOf(
  now: () => Config,
  clock: Clock,
  sessions: SessionRegistry,
): Pick<
  Context,
  'policy' | 'targetPolicy' | 'isProxy' | 'slots' | 'starts' | 'nodeLoad' | 'checkTarget' | 'channelSettings'
> {
  const isAllowed = liveAddressList(() => now().media.allowedNetworks)
  return {
    ...loadLimitsOf(now, clock, sessions),
    policy: liveView(() => ({ rtmpIpFilters: now().rtmp.ipFilters, region: now().server.region })),
    targetPolicy: liveView(() => targetPolicyOf(now(), isAllowed)),
    isProxy: liveAddressList(() => now().server.trustedProxies),
    checkTarget: (url) => checkTarget(url, now().webhooks.allowPrivateTargets),
    channelSettings: liveView(() => ({
      ...now().channels,
      rtmpUrl: rtmpUrlOf(now()),
      srtUrl: srtUrlOf(now()),
      refuseKey: refuseViewerKey,
      sources: targetPolicyOf(now(), isAllowed),
    })),
  }
}

/** How much this node takes. */
function loadLimitsOf(
  now: () => Config,
  clock: Clock,
  { leaving, counts }: SessionRegistry,
): Pick<Context, 'slots' | 'starts' | 'nodeLoad'> {
  const limits = liveView(() => now().sessions)
  const slots = new SessionSlots(limits)
  const nodeLoad = new NodeLoad({
    clock,
    hasNoSlot: () => slots.isFullForViewers(leaving.size),
    bytesOut: () => counts.bytesOut + counts.otherBytesOut,
    maxEgress: () => now().server.maxEgressMegabits * 1_000_000,
  })
  return { slots, starts: new SessionStarts(limits), nodeLoad }
}

/** At most about 200 MB a day under constant requests. */
const LINES_PER_MINUTE = 600

function sampledLogs(log: Logger, clock: Clock): Context['sampled'] {
  const sampled = () => new SampledLog(log, clock, LINES_PER_MINUTE)
  return { refusals: sampled(), answers: sampled(), publishers: sampled(), sessions: sampled(), deliveries: sampled() }
}

/**
 * Only the names that the configuration has are known as ours; each dial checks the address that it leads to.
 * @param isAllowed whether an address is in one of the allowed networks
 */
function targetPolicyOf(config: Config, isAllowed: ReturnType<typeof liveAddressList>): TargetPolicy {
  const urls = [config.server.publicUrl, config.server.nodeUrl, rtmpUrlOf(config)]
  const hosts = new Set(urls.flatMap((url) => URL.parse(url)?.hostname.toLowerCase() ?? []))
  const httpUrls = [config.server.publicUrl, config.server.nodeUrl].flatMap((text) => URL.parse(text) ?? [])
  const ofHttp = [config.server.port, ...httpUrls.map(httpPort)]
  const ports = { tcp: [config.rtmp.port, config.rtmp.tlsPort, ...ofHttp], udp: [config.srt.port] }
  return {
    allowPrivate: config.media.allowedNetworks.length > 0,
    hasAddress: (text) => {
      const address = parseAddress(text)
      return address !== null && isAllowed(address)
    },
    isOurs: (host, port, transport) => hosts.has(host) && ports[transport].includes(port),
  }
}

/** The address to which publishers push: the configured one, or this machine. Port 0, any free one, is for tests. */
const rtmpUrlOf = ({ channels, rtmp }: Config): string =>
  channels.rtmpUrl || `rtmp://localhost:${rtmp.port || 1935}/live`

/** The same over SRT, at the host of the configured addresses. */
function srtUrlOf({ server, channels, srt }: Config): string {
  const url = server.publicUrl || server.nodeUrl || channels.rtmpUrl || 'http://localhost'
  return `srt://${new URL(url).hostname}:${srt.port || 10_000}`
}
