import { err, ok } from '../base/result.ts'
import { readIngest, rotateKey } from '../commands/channels/ingests.ts'
import { command } from './command.ts'
import { required } from './flag.ts'
import { details } from './print.ts'
import { fromChannelFailure } from './refusal.ts'
import { withAccount } from './session.ts'

const INGEST_ID = required('ID', 'The id of the ingest, as `sluice channel show` shows it.')

const show = command({
  path: ['ingest', 'show'],
  summary: 'Show an ingest with its address and stream key',
  args: { id: INGEST_ID },
  examples: ['sluice ingest show in_1BvTL3PCGW4dXdKwCqFkRe', 'sluice ingest show $INGEST --json | jq -r .streamKey'],
  run: (call) =>
    withAccount(call, async ({ ctx, reader }) => {
      const found = await readIngest(ctx, reader, call.args.id)
      return found.ok ? ok({ json: found.value, text: details(found.value) }) : err(fromChannelFailure(found.error))
    }),
})

const rotate = command({
  path: ['ingest', 'rotate-key'],
  summary: 'Replace the stream key of a push ingest and print only the new one',
  detail: 'Sluice refuses the old key from then on, and cuts a publisher that uses it within a second.',
  args: { id: INGEST_ID },
  examples: ['sluice ingest rotate-key in_1BvTL3PCGW4dXdKwCqFkRe', 'KEY=$(sluice ingest rotate-key $INGEST)'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await rotateKey(ctx, actor, call.args.id)
      return made.ok ? ok({ json: made.value, text: made.value.streamKey ?? '' }) : err(fromChannelFailure(made.error))
    }),
})

export const ingestCommands = [show, rotate]
