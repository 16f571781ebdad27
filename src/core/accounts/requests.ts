import { Type, type Static, type TObject } from 'typebox'
import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import {
  ALL_CLUSTERS,
  cascadeRecord,
  checkCluster,
  DefaultCluster,
  NO_CLUSTERS,
  readCascade,
  readDefaultCluster,
} from '../clusters.ts'
import { failure, invalid, type Failure } from '../errors.ts'
import type { AccountDefaults } from '../tokens/accountDefaults.ts'
import { canonicalList } from '../tokens/canonical.ts'
import { countryUpdates } from '../tokens/schema.ts'
import { cascadeClusters } from '../tokens/clusterSchema.ts'
import { orNull } from '../tokens/schemaParts.ts'
import { TOKEN_LIMITS } from '../tokens/types.ts'
import { agreed } from '../tokens/update.ts'
import { type BodyReader, readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import { closed } from '../validation/closed.ts'

export const UpdateAccountSecurity = Type.Object(countryUpdates(), {
  $id: 'UpdateAccountSecurity',
  ...closed,
  minProperties: 1,
  description: 'Country rules of all tokens without country rules of their own. Absent or null: they stay as they are.',
  examples: [{ allowedCountries: ['DE', 'NL'], deniedCountries: [] }],
})

const CASCADE_TEXT =
  'The regions whose nodes show streams of publish tokens without a `geoCascade` of their own. Broadcasts that begin from now on have them.'

const geoCascade = { isEnabled: Type.Boolean(), clusters: cascadeClusters() }

export const GeoCascade = Type.Object(geoCascade, {
  $id: 'GeoCascade',
  ...closed,
  description: CASCADE_TEXT,
  examples: [{ isEnabled: true, clusters: [ALL_CLUSTERS] }],
})

export const AccountDistribution = Type.Object(
  { geoCascade: Type.Object(geoCascade, closed) },
  {
    $id: 'AccountDistribution',
    ...closed,
    description: CASCADE_TEXT,
    examples: [{ geoCascade: { isEnabled: false } }],
  },
)

const days = (description: string) =>
  Type.Optional(
    orNull(
      Type.Object({ days: Type.Integer({ minimum: 1, maximum: TOKEN_LIMITS.recordingDaysMax }) }, closed),
      description,
    ),
  )

export const MediaExpiration = Type.Object(
  {
    recordings: days('Recordings that get complete from now on are deleted after these days. Null: they stay.'),
    timelines: days('Not built: only null.'),
    clips: days('Not built: only null.'),
  },
  {
    $id: 'MediaExpiration',
    ...closed,
    description: 'How long media is kept. What is left out is null.',
    examples: [{ recordings: { days: 30 } }],
  },
)

export const LogAdmissions = Type.Object(
  { isEnabled: Type.Boolean() },
  {
    $id: 'LogAdmissions',
    ...closed,
    description: 'Whether the access log gets the admissions of the account from now on.',
    examples: [{ isEnabled: true }],
  },
)

/** All defaults of an account at once, as files of provisioning and the command line have them. */
const AccountSettings = Type.Object(
  {
    allowedCountries: countryUpdates().allowedCountries,
    deniedCountries: countryUpdates().deniedCountries,
    recordingDays: Type.Optional(
      orNull(
        Type.Integer({ minimum: 1, maximum: TOKEN_LIMITS.recordingDaysMax }),
        'As `recordings.days` of `MediaExpiration`.',
      ),
    ),
    logAdmissions: Type.Optional(
      Type.Boolean({ description: 'Whether the access log gets admissions too, within the bounds of refusals.' }),
    ),
    geoCascade: Type.Optional(Type.Object(geoCascade, closed)),
    defaultCluster: Type.Optional(DefaultCluster.properties.defaultCluster),
  },
  closed,
)

/** The defaults of an account under the names of `AccountSettings`. */
export const toAccountSettings = ({ geoCascade: clusters, version: _version, ...defaults }: AccountDefaults) => ({
  ...defaults,
  geoCascade: cascadeRecord(clusters),
})

/** What a body changes in the defaults of an account. It may name these regions. */
export type ReadDefaults = (
  body: unknown,
  before: AccountDefaults,
  regions: readonly string[],
) => Result<Partial<AccountDefaults>, Failure>

/** Parses new country rules. Those that the body leaves out stay. */
export const readSecurityChange: ReadDefaults = (body, before) => {
  const problems = new Problems()
  if (isObject(body) && Object.values(body).every((value) => value === null))
    problems.add('account', 'No properties specified to update.')
  return settle(problems, readCountries(readShape(UpdateAccountSecurity, body, problems), before))
}

function readCountries(body: BodyReader<Static<typeof UpdateAccountSecurity>>, before: AccountDefaults) {
  const reader = body as unknown as Parameters<typeof canonicalList>[0]
  const listOf = (name: 'allowedCountries' | 'deniedCountries') =>
    agreed(reader, name, (spelling) => canonicalList(reader, spelling)) ?? before[name]
  const lists = { allowedCountries: listOf('allowedCountries'), deniedCountries: listOf('deniedCountries') }
  if (lists.allowedCountries.length > 0 && lists.deniedCountries.length > 0)
    body.problems.add(
      'deniedCountries',
      'allowedCountries and deniedCountries exclude each other; send [] for one of them',
    )
  return lists
}

/** Parses settings under the names of `AccountSettings`. Those that the body leaves out stay. */
export const readSettingsChange: ReadDefaults = (body, before, regions) => {
  const problems = new Problems()
  const reader = readShape(AccountSettings, body, problems)
  const geoCascade = reader.names('geoCascade') ? readCascade(reader.part('geoCascade'), regions) : before.geoCascade
  const days = reader.clears('recordingDays') ? null : reader.value('recordingDays')
  const recordingDays = days === undefined ? before.recordingDays : days
  checkCluster(reader, 'defaultCluster', regions)
  const defaultCluster = reader.value('defaultCluster') ?? before.defaultCluster
  const logAdmissions = reader.value('logAdmissions') ?? before.logAdmissions
  const settings = { recordingDays, logAdmissions, geoCascade, defaultCluster }
  return settle(problems, { ...readCountries(reader, before), ...settings })
}

/** Parses `{isEnabled}`. */
export const readLogAdmissionsChange: ReadDefaults = (body, before) => {
  const problems = new Problems()
  const isEnabled = readShape(LogAdmissions, body, problems).value('isEnabled')
  return settle(problems, { logAdmissions: isEnabled ?? before.logAdmissions })
}

/** Parses `{defaultCluster}`. */
export const readClusterChange: ReadDefaults = (body, _before, regions) => {
  const read = readDefaultCluster(body, regions)
  return read.ok ? ok({ defaultCluster: read.value }) : err(invalid(read.error))
}

/** Parses `{geoCascade: {isEnabled, clusters}}`. */
export const readDistributionChange: ReadDefaults = (body, _before, regions) => {
  const problems = new Problems()
  const outer = withNames(AccountDistribution, body)
  const named = isObject(outer) ? { ...outer, geoCascade: withNames(GeoCascade, outer['geoCascade']) } : outer
  return cascadeOf(readShape(AccountDistribution, named, problems).part('geoCascade'), regions)
}

/** Parses the older form, which has no object around it. */
export const readGeoCascadeChange: ReadDefaults = (body, _before, regions) =>
  cascadeOf(readShape(GeoCascade, withNames(GeoCascade, body), new Problems()), regions)

/** Parses `{recordings: {days}}`. There are no timelines and no clips that could expire. */
export const readExpirationChange: ReadDefaults = (body) => {
  const problems = new Problems()
  const reader = readShape(MediaExpiration, body, problems)
  for (const kind of ['timelines', 'clips'] as const) {
    if (reader.value(kind)) problems.add(kind, `Sluice makes no ${kind}; send null`)
  }
  return settle(problems, { recordingDays: reader.value('recordings')?.days ?? null })
}

/** A list without a name has an answer of its own, as in hosted services. */
function cascadeOf(body: BodyReader<Static<typeof GeoCascade>>, regions: readonly string[]): ReturnType<ReadDefaults> {
  if (body.value('isEnabled') === true && body.value('clusters')?.length === 0)
    return err(failure('bad_request', NO_CLUSTERS))
  return settle(body.problems, { geoCascade: readCascade(body, regions) })
}

function settle(problems: Problems, changes: Partial<AccountDefaults>): ReturnType<ReadDefaults> {
  const settled = problems.settle(changes)
  return settled.ok ? ok(settled.value) : err(invalid(settled.error))
}

/** The same object with the names of the schema. Clients write `isenabled`. One that comes in two spellings stays, to be refused. */
function withNames(schema: TObject, body: unknown): unknown {
  if (!isObject(body)) return body
  const names = new Map(Object.keys(schema.properties).map((name) => [name.toLowerCase(), name]))
  const entries = Object.entries(body).map(([name, value]) => [names.get(name.toLowerCase()) ?? name, value] as const)
  const named = Object.fromEntries(entries)
  return Object.keys(named).length === entries.length ? named : body
}
