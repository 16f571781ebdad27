import { err, ok, type Result } from '../base/result.ts'
import { isoTime } from '../base/time.ts'
import { createAccount } from '../commands/accounts/accounts.ts'
import { changeDefaults } from '../commands/accounts/defaults.ts'
import { toAccountSettings } from '../core/accounts/requests.ts'
import type { AccountDefaults } from '../core/tokens/accountDefaults.ts'
import { TOKEN_LIMITS } from '../core/tokens/types.ts'
import { command } from './command.ts'
import { choiceOrNone, given, required, textFlag, texts, toggleFlag, wholeOrWord } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { fields } from './print.ts'
import { type CliRefusal, usage } from './refusal.ts'
import { withAccount, withApp } from './session.ts'

const create = command({
  path: ['account', 'create'],
  summary: 'Create an account and print its id',
  flags: { name: required('NAME', 'A display name.') },
  examples: ['sluice account create --name "Second studio"', 'sluice account create --name staging --json'],
  run: (call) =>
    withApp(call, async ({ ctx }) => {
      const made = await createAccount(ctx, call.flags.name)
      if (!made.ok) return made
      return ok({ json: toJson(made.value), text: made.value.id })
    }),
})

const list = command({
  path: ['account', 'list'],
  summary: 'List the accounts',
  flags: CSV_FLAG,
  examples: ['sluice account list', 'sluice account list --json'],
  run: (call) =>
    withApp(call, async ({ ctx }) => {
      const accounts = (await ctx.store.read.accounts.list()).map(toJson)
      return ok({ json: accounts, text: listing(COLUMNS, accounts) })
    }),
})

const COLUMNS: Columns<ReturnType<typeof toJson>> = {
  id: ['key', ({ id }) => id],
  name: ['text', ({ name }) => name],
  created: ['time', ({ createdAt }) => createdAt],
}

const toJson = ({ id, name, createdAtMs }: { id: string; name: string; createdAtMs: number }) => ({
  id,
  name,
  createdAt: isoTime(createdAtMs),
})

const show = command({
  path: ['account', 'show'],
  summary: 'Show what an account says for its tokens, recordings and access log',
  detail: 'docs/reference/api.md#account-defaults explains it.',
  examples: ['sluice account show', 'sluice account show --account a1b2c3 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => ok(settingsAnswer(await ctx.cache.accountDefaults(accountId)))),
})

const update = command({
  path: ['account', 'update'],
  summary: 'Change what an account says for its tokens, recordings and access log',
  detail:
    'Countries hold for all tokens without country rules of their own; sessions that they refuse end at once. Days hold for ' +
    'recordings that get complete from now on, unless their token has its own. Regions hold for broadcasts that begin from now on.',
  flags: {
    country: texts('CODE', 'The only countries that may use tokens (ISO 3166-1 alpha-2).'),
    'no-country': toggleFlag('Remove all that --country has set.'),
    'deny-country': texts('CODE', 'A country that may not use tokens.'),
    'no-deny-country': toggleFlag('Remove all that --deny-country has set.'),
    'recording-days': wholeOrWord('none', 'Delete recordings after N days; none: keep them.', {
      min: 1,
      max: TOKEN_LIMITS.recordingDaysMax,
    }),
    'log-admissions': choiceOrNone(['on', 'off'], 'Whether the access log gets admissions too.'),
    'default-cluster': textFlag(
      'REGION',
      'Only servers of this region take publishers of tokens that name none themselves; auto: all do.',
    ),
    'geo-cascade': texts(
      'REGION',
      'Servers of this region show streams of tokens that name none themselves; all: every server does.',
    ),
    'no-geo-cascade': toggleFlag('Remove all that --geo-cascade has set.'),
  },
  examples: [
    'sluice account update --deny-country FR --deny-country BE',
    'sluice account update --log-admissions on --recording-days 30',
  ],
  run: async (call) => {
    const body = settingsBody(call.flags)
    if (!body.ok) return body
    return withAccount(call, async ({ ctx, actor }) => {
      const done = await changeDefaults(ctx, actor, 'settings', body.value)
      return done.ok ? ok(settingsAnswer(done.value)) : done
    })
  },
})

function settingsAnswer(defaults: AccountDefaults) {
  const settings = toAccountSettings(defaults)
  const { allowedCountries, deniedCountries, recordingDays, logAdmissions, defaultCluster, geoCascade } = settings
  const text = fields({
    allowedCountries: allowedCountries.join(', ') || 'any',
    deniedCountries: deniedCountries.join(', ') || 'none',
    recordingDays: recordingDays ?? 'until they are deleted',
    logAdmissions: logAdmissions ? 'on' : 'off',
    defaultCluster,
    geoCascade: geoCascade.isEnabled ? geoCascade.clusters.join(', ') : 'off',
  })
  return { json: settings, text }
}

interface SettingsFlags {
  readonly country: readonly string[]
  readonly 'no-country': boolean
  readonly 'deny-country': readonly string[]
  readonly 'no-deny-country': boolean
  readonly 'recording-days': number | null | undefined
  readonly 'log-admissions': 'on' | 'off' | undefined
  readonly 'default-cluster': string | undefined
  readonly 'geo-cascade': readonly string[]
  readonly 'no-geo-cascade': boolean
}

/** The body of the change that the flags name. */
function settingsBody(flags: SettingsFlags): Result<object, CliRefusal> {
  const lists = ['country', 'deny-country', 'geo-cascade'] as const
  const both = lists.find((name) => flags[name].length > 0 && flags[`no-${name}`])
  if (both !== undefined) return err(usage(`--${both} and --no-${both} exclude each other`))
  const listOf = (name: (typeof lists)[number]) => (flags[name].length > 0 || flags[`no-${name}`] ? flags[name] : null)
  const [allowedCountries, deniedCountries, clusters] = lists.map(listOf)
  const { 'recording-days': recordingDays, 'log-admissions': logged, 'default-cluster': defaultCluster } = flags
  const body = {
    ...(allowedCountries ? { allowedCountries } : {}),
    ...(deniedCountries ? { deniedCountries } : {}),
    ...(logged === undefined ? {} : { logAdmissions: logged === 'on' }),
    ...given({ recordingDays, defaultCluster }),
    ...(clusters ? { geoCascade: { isEnabled: clusters.length > 0, clusters } } : {}),
  }
  return Object.keys(body).length > 0 ? ok(body) : err(usage('there is nothing to change: set a flag'))
}

export const accountCommands = [create, list, show, update]
