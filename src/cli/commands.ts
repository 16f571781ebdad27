import { accessCommands } from './accessLog.ts'
import { accountCommands } from './account.ts'
import { audienceCommand } from './audience.ts'
import { backupCommands } from './backup.ts'
import { cacheLogCommand } from './cacheLog.ts'
import { channelCommands } from './channel.ts'
import { channelWebhookCommands } from './channelWebhook.ts'
import { checkCommand } from './check.ts'
import type { CliCommand } from './command.ts'
import { completionCommand } from './completion.ts'
import { credentialCommands } from './credential.ts'
import { doctorCommand } from './doctor.ts'
import { forgetCommand } from './forget.ts'
import { ingestCommands } from './ingest.ts'
import { keyCommands } from './key.ts'
import { listenCommand } from './listen.ts'
import { clusterCommands } from './cluster.ts'
import { provisionCommands } from './provision.ts'
import { reloadCommand } from './reload.ts'
import { pullCommands } from './pull.ts'
import { restreamCommands } from './restream.ts'
import { recordingCommands } from './recording.ts'
import { schedulerCommands } from './scheduler.ts'
import { secretCommands } from './secret.ts'
import { serveCommand } from './serve.ts'
import { sessionCommands } from './sessions.ts'
import { streamCommands } from './streams.ts'
import { tokenCommands } from './token.ts'
import { userCommands } from './user.ts'
import { webhookCommands } from './webhook.ts'

/** Every command. Parsing, help and docs/reference/command-line.md are generated from this table. */
export const COMMANDS: readonly CliCommand[] = [
  serveCommand,
  reloadCommand,
  ...clusterCommands,
  ...provisionCommands,
  ...accountCommands,
  ...secretCommands,
  ...credentialCommands,
  ...userCommands,
  ...tokenCommands,
  ...pullCommands,
  ...restreamCommands,
  checkCommand,
  ...accessCommands,
  ...sessionCommands,
  ...streamCommands,
  ...recordingCommands,
  audienceCommand,
  forgetCommand,
  ...webhookCommands,
  ...channelCommands,
  ...schedulerCommands,
  ...ingestCommands,
  ...channelWebhookCommands,
  listenCommand,
  cacheLogCommand,
  ...backupCommands,
  ...keyCommands,
  doctorCommand,
  completionCommand(() => COMMANDS),
]
