import { err, ok } from '../base/result.ts'
import { createPull, deletePull, listPulls, updatePull } from '../commands/pulls/pulls.ts'
import type { PullRecord } from '../core/pulls/schema.ts'
import { URL_MAX } from '../core/validation/outboundUrl.ts'
import { command } from './command.ts'
import type { Host } from './host.ts'
import { id, required, textFlag, toggleFlag } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { usage } from './refusal.ts'
import { withAccount } from './session.ts'

const PULL_ID = id('ID', 'The id of the pull, as `sluice pull list` shows it.')
const TOKEN_ID = id('TOKEN', 'The id of the publish token in whose name it is published.')
const ON_DEMAND = 'Dial it when the first viewer comes, and until 20 seconds after the last.'
const FROM_STDIN = 'Reads the URL of the source from standard input, so that its password is in no list of processes.'

const COLUMNS: Columns<PullRecord> = {
  id: ['key', ({ id: key }) => key],
  stream: ['text', ({ streamName }) => streamName],
  token: ['text', ({ tokenId }) => String(tokenId)],
  url: ['text', ({ url }) => url],
  when: ['text', ({ when }) => when],
  status: ['text', ({ status }) => status],
  'next try': ['until', ({ retryAt }) => retryAt],
  problem: ['sentence', ({ problem, lastProblem }) => problem ?? lastProblem],
}

const list = command({
  path: ['pull', 'list'],
  summary: 'List the sources that Sluice dials',
  detail: '`problem` is the latest one, also if it is over.',
  flags: CSV_FLAG,
  examples: ['sluice pull list', 'sluice pull list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const pulls = await listPulls(ctx, accountId, true)
      return ok({ json: pulls, text: listing(COLUMNS, pulls) })
    }),
})

const add = command({
  path: ['pull', 'add'],
  summary: 'Dial a source, such as a camera, and publish it as a stream',
  detail: FROM_STDIN,
  args: { token: TOKEN_ID, stream: required('STREAM', 'The name of the stream.') },
  flags: { label: textFlag('LABEL', 'A name for people.'), 'on-demand': toggleFlag(ON_DEMAND) },
  examples: [
    'sluice pull add 7 door < camera.txt',
    'sluice pull add 7 yard --label "Back yard" --on-demand < camera.txt',
  ],
  run: async (call) => {
    const url = await readUrl(call.host)
    if (!url.ok) return url
    const { token: tokenId, stream: streamName } = call.args
    const { label = '', 'on-demand': onDemand } = call.flags
    const when = onDemand ? 'onDemand' : 'always'
    return withAccount(call, async ({ ctx, actor }) => {
      const made = await createPull(ctx, actor, { tokenId, streamName, label, when, url: url.value })
      return made.ok ? ok({ json: made.value, text: listing(COLUMNS, [made.value]) }) : made
    })
  },
})

const update = command({
  path: ['pull', 'update'],
  summary: 'Switch a pull on or off, or change its source or when it is dialled; it is dialled again',
  detail: `With --new-source: ${FROM_STDIN.replace('Reads', 'reads')}`,
  args: { id: PULL_ID },
  flags: {
    'new-source': toggleFlag('Read another URL from standard input.'),
    on: toggleFlag('Dial it.'),
    off: toggleFlag('Do not dial it.'),
    'on-demand': toggleFlag(ON_DEMAND),
    always: toggleFlag('Dial it as long as the server runs.'),
  },
  examples: ['sluice pull update 3 --off', 'sluice pull update 3 --new-source < camera.txt'],
  run: async (call) => {
    const { 'new-source': source, on, off, 'on-demand': onDemand, always } = call.flags
    if (on && off) return err(usage('--on and --off exclude each other'))
    if (onDemand && always) return err(usage('--on-demand and --always exclude each other'))
    const url = source ? await readUrl(call.host) : null
    if (url?.ok === false) return url
    const body = {
      ...(url === null ? {} : { url: url.value }),
      ...(on || off ? { enabled: on } : {}),
      ...(onDemand || always ? { when: onDemand ? 'onDemand' : 'always' } : {}),
    }
    return withAccount(call, async ({ ctx, actor }) => {
      const changed = await updatePull(ctx, actor, call.args.id, body)
      return changed.ok ? ok({ json: changed.value, text: listing(COLUMNS, [changed.value]) }) : changed
    })
  },
})

const remove = command({
  path: ['pull', 'delete'],
  summary: 'Delete a pull; what it publishes ends',
  args: { id: PULL_ID },
  examples: ['sluice pull delete 3', 'sluice pull delete 3 --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deletePull(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `Pull ${call.args.id} was deleted.` }) : done
    }),
})

async function readUrl(host: Pick<Host, 'readStdin'>) {
  const input = await host.readStdin(URL_MAX + 2)
  return input.ok ? ok(input.value.trim()) : err(usage(`the URL on standard input ${input.error}`))
}

export const pullCommands = [list, add, update, remove]
