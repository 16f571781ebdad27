import { isoTime } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import { parseCountry } from '../access/country.ts'
import type { FieldErrors } from '../errors.ts'
import { checkLabel, checkPlainText } from '../validation/text.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { readName } from './name.ts'
import {
  CreateDistribution,
  CreateKey,
  type DistributionRecord,
  HLS_LATENCY,
  type KeyRecord,
  UpdateDistribution,
} from './distributionSchema.ts'
import { parseNetwork } from './network.ts'
import { parseDomain } from './referer.ts'
import { readEach } from '../validation/readEach.ts'
import type { Distribution, DistributionRules, DistributionSecurity, ChannelSettings } from './types.ts'

export interface NewKey {
  key: string
  name: string | null
}

/** A distribution to be created, with its keys. */
export interface NewDistribution {
  rules: DistributionRules
  keys: NewKey[]
}

const OPEN: DistributionSecurity = {
  geoBlocking: { enabled: false, mode: 'deny', countries: [] },
  ipBlocking: { enabled: false, mode: 'deny', cidrs: [] },
  refererBlocking: { enabled: false, allowedDomains: [], allowNativeApps: false },
  rewriteSegmentUrls: false,
}

const BLANK: DistributionRules = {
  name: '',
  externalId: null,
  enabled: true,
  hlsLatencySeconds: HLS_LATENCY.default,
  hls: true,
  llHls: true,
  maxBitrate: null,
  engineIds: [],
  security: OPEN,
  closedWithoutKey: false,
}

export function readCreateDistribution(body: unknown, settings: ChannelSettings): Result<NewDistribution, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readDistributionBody(readShape(CreateDistribution, body, problems), settings))
}

/** The same for a distribution inside a larger body. Errors are added to its problems. */
export function readDistributionBody(body: BodyReader<CreateDistribution>, settings: ChannelSettings): NewDistribution {
  const keys = body.part('security').parts('keys')
  return { rules: readRules(body, BLANK), keys: keys.map((key) => readKeyBody(key, settings)) }
}

/** The distribution after an update: the fields in the body change, part by part. */
export function readUpdateDistribution(
  body: unknown,
  before: DistributionRules,
): Result<DistributionRules, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readRules(readShape(UpdateDistribution, body, problems), before))
}

export function readCreateKey(body: unknown, settings: ChannelSettings): Result<NewKey, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readKeyBody(readShape(CreateKey, body, problems), settings))
}

function readKeyBody(body: BodyReader<CreateKey>, settings: ChannelSettings): NewKey {
  const key = body.value('key')
  const name = body.value('name')
  checkLabel(`${body.at}name`, name, body.problems)
  const refused = key === undefined ? null : settings.refuseKey(key)
  if (refused !== null) body.problems.add(`${body.at}key`, refused)
  return { key: key ?? '', name: name ?? null }
}

type Body = BodyReader<UpdateDistribution>

function readRules(body: Body, before: DistributionRules): DistributionRules {
  const externalId = body.value('externalId')
  checkPlainText(`${body.at}externalId`, externalId, body.problems)
  return {
    name: readName(body) ?? before.name,
    externalId: externalId ?? (body.clears('externalId') ? null : before.externalId),
    enabled: body.value('enabled') ?? before.enabled,
    hlsLatencySeconds: readLatency(body, before),
    hls: body.part('outputs').value('hls') ?? before.hls,
    llHls: body.part('outputs').value('llHls') ?? before.llHls,
    maxBitrate: body.value('maxBitrate') ?? (body.clears('maxBitrate') ? null : before.maxBitrate),
    engineIds: readEngineIds(body) ?? before.engineIds,
    security: readSecurity(body, before.security),
    closedWithoutKey: before.closedWithoutKey,
  }
}

function readLatency(body: Body, before: DistributionRules): number {
  const latencies = body.part('latencies')
  const cleared = body.clears('latencies') || latencies.clears('hls')
  return latencies.value('hls') ?? (cleared ? HLS_LATENCY.default : before.hlsLatencySeconds)
}

function readEngineIds(body: Body): string[] | undefined {
  const ids = body.part('endpoints').value('engineIds')
  return ids && [...new Set(ids)]
}

function readSecurity(body: Body, before: DistributionSecurity): DistributionSecurity {
  const security = body.part('security')
  const [geo, ip, referer] = [
    security.part('geoBlocking'),
    security.part('ipBlocking'),
    security.part('refererBlocking'),
  ]
  return {
    geoBlocking: {
      enabled: geo.value('enabled') ?? before.geoBlocking.enabled,
      mode: geo.value('mode') ?? before.geoBlocking.mode,
      countries: readEach(geo, 'countries', parseCountry) ?? before.geoBlocking.countries,
    },
    ipBlocking: {
      enabled: ip.value('enabled') ?? before.ipBlocking.enabled,
      mode: ip.value('mode') ?? before.ipBlocking.mode,
      cidrs: readEach(ip, 'cidrs', canonicalNetwork) ?? before.ipBlocking.cidrs,
    },
    refererBlocking: {
      enabled: referer.value('enabled') ?? before.refererBlocking.enabled,
      allowedDomains: readEach(referer, 'allowedDomains', parseDomain) ?? before.refererBlocking.allowedDomains,
      allowNativeApps: referer.value('allowNativeApps') ?? before.refererBlocking.allowNativeApps,
    },
    rewriteSegmentUrls: security.value('rewriteSegmentUrls') ?? before.rewriteSegmentUrls,
  }
}

function canonicalNetwork(text: string): Result<string, string> {
  const network = parseNetwork(text)
  return network.ok ? { ok: true, value: network.value.text } : network
}

export const toKeyRecord = ({ id, name }: { id: string; name: string | null }): KeyRecord => ({
  id,
  ...(name === null ? {} : { name }),
})

export function toDistributionRecord(distribution: Distribution, keys: readonly KeyRecord[]): DistributionRecord {
  const { externalId, maxBitrate, security } = distribution
  const { geoBlocking, ipBlocking, refererBlocking, rewriteSegmentUrls } = security
  return {
    id: distribution.id,
    channelId: distribution.channelId,
    name: distribution.name,
    ...(externalId === null ? {} : { externalId }),
    enabled: distribution.enabled,
    latencies: { hls: distribution.hlsLatencySeconds },
    security: {
      geoBlocking: { ...geoBlocking, countries: [...geoBlocking.countries] },
      ipBlocking: { ...ipBlocking, cidrs: [...ipBlocking.cidrs] },
      refererBlocking: { ...refererBlocking, allowedDomains: [...refererBlocking.allowedDomains] },
      rewriteSegmentUrls,
      tokenRequired: keys.length > 0 || distribution.closedWithoutKey,
      keys: [...keys],
    },
    endpoints: { engineIds: [...distribution.engineIds] },
    outputs: { hesp: false, hls: distribution.hls, hlsMpegTs: false, llHls: distribution.llHls },
    ...(maxBitrate === null ? {} : { maxBitrate }),
    dvr: { enabled: false },
    createdAt: isoTime(distribution.createdAtMs),
    updatedAt: isoTime(distribution.updatedAtMs),
  }
}
