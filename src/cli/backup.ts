import { err, ok, type Result } from '../base/result.ts'
import { recordingsDir } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { failure } from '../core/errors.ts'
import { type Call, command, type CommandAnswer, type CommandOutcome } from './command.ts'
import { required, toggleFlag } from './flag.ts'
import type { BackupFacts, Backups, RestoredFacts } from './host.ts'
import { type Columns, record, yesNo } from './listing.ts'
import { readConfig } from './session.ts'

const FILE = required('FILE', 'The backup file.')

const create = command({
  path: ['backup', 'create'],
  isVerbOptional: true,
  summary: 'Back up the database to a new file, while servers run',
  detail: [
    'The backup has everything that Sluice acknowledged before the command began, and the state of one moment. It appears',
    'under its name when it is complete. Recordings are not in it. Without --with-key the sealing key is not in it',
    'either: keep a copy of the key elsewhere, because a restore needs it. A PostgreSQL database needs pg_dump.',
  ].join('\n'),
  args: { file: required('FILE', 'The backup file, which does not exist yet.') },
  flags: {
    'with-key': toggleFlag(
      'Put the sealing key and the authority of tls.selfSigned into the backup. Keep the file secret: it opens every token.',
    ),
  },
  examples: ['sluice backup /backups/monday.tar', 'sluice backup create /backups/full.tar --with-key --json'],
  run: (call) =>
    withBackups(call, async (backups, config) => {
      const made = await backups.create(config, call.args.file, call.flags['with-key'])
      return made.ok ? ok(created(made.value, config)) : err(made.error)
    }),
})

const verify = command({
  path: ['backup', 'verify'],
  summary: 'Check that a backup is complete and undamaged',
  detail: 'Reads the whole file. It also says whether this version can restore it, and which key it needs.',
  args: { file: FILE },
  examples: ['sluice backup verify /backups/sluice-2026-01-31.tar', 'sluice backup verify backup.tar --json'],
  run: (call) =>
    withBackups(call, async (backups, config) => {
      const checked = await backups.verify(config, call.args.file)
      return checked.ok ? ok(answerOf(checked.value, keyNote(checked.value))) : err(checked.error)
    }),
})

const restore = command({
  path: ['restore'],
  summary: 'Restore a backup where no database is yet',
  detail: [
    'It writes the database of `data.dir` or `storage.url`, which must not exist yet. It writes the sealing key and the',
    'authority of `tls.selfSigned` if the backup has them and the directory does not. Sluice sends nothing that was waiting',
    'in the backup, because the original server may have sent it. It ends the sessions of the backup without events, and',
    'signs users of the dashboard out.',
  ].join('\n'),
  args: { file: FILE },
  examples: [
    'sluice restore /backups/sluice-2026-01-31.tar --data /var/lib/sluice',
    'sluice restore backup.tar --json',
  ],
  run: (call) =>
    withBackups(call, async (backups, config) => {
      const restored = await backups.restore(config, call.args.file)
      return restored.ok ? ok(answerOf(restored.value, restoredNote(restored.value, config))) : err(restored.error)
    }),
})

export const backupCommands = [create, verify, restore]

async function withBackups(
  call: Call,
  work: (backups: Backups, config: Config) => Promise<Result<CommandAnswer, string>>,
): CommandOutcome {
  const config = readConfig(call)
  if (!config.ok) return config
  const answer = await work(await call.host.backups(), config.value)
  return answer.ok ? answer : err(failure('conflict', answer.error))
}

const SHOWN: Columns<Omit<BackupFacts, 'files'> & { readonly bytes: number }> = {
  version: ['text', ({ version }) => version],
  database: ['text', ({ engine }) => engine],
  createdAt: ['text', ({ createdAt }) => createdAt],
  accounts: ['text', ({ accounts }) => accounts],
  tokens: ['text', ({ tokens }) => tokens],
  bytes: ['bytes', ({ bytes }) => bytes],
  hasKey: ['text', ({ hasKey }) => yesNo(hasKey)],
  hasAuthority: ['text', ({ hasAuthority }) => yesNo(hasAuthority)],
}

function answerOf(facts: BackupFacts, note: string): CommandAnswer {
  const { files, ...rest } = facts
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0)
  const shown = { ...rest, bytes }
  return { json: { ...shown, files }, text: record(SHOWN, shown), note }
}

const created = (facts: BackupFacts, config: Config): CommandAnswer =>
  answerOf(facts, [keyNote(facts), `Recordings are not in it: copy ${recordingsDir(config)} too.`].join('\n'))

function keyNote({ hasKey, sealedBy, missingKeys }: BackupFacts): string {
  if (missingKeys.length > 0)
    return `Warning: key ${missingKeys.join(', ')} sealed values in it, and is neither in it nor here. Without that key it cannot be restored.`
  if (hasKey)
    return 'Warning: the sealing key is in it. A person who has this file can read every token: keep it secret.'
  if (sealedBy.length === 0) return 'It has no sealed values, so a restore needs no key.'
  return `The sealing key is not in it. To restore it you need key ${sealedBy.join(', ')}: keep a copy of it elsewhere.`
}

function restoredNote({ ended }: RestoredFacts, config: Config): string {
  const what = `Ended ${ended.sessions} sessions, and gave up ${ended.deliveries} deliveries and events that were not sent yet.`
  return `${what}\nRecordings were not in it: copy them to ${recordingsDir(config)}.`
}
