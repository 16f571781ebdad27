import { type Actor, audit, type CommandContext } from './context.ts'

/** Records that a backup was begun, or fetched. @param subject the time of the backup, or empty */
export async function auditBackup(
  { store, clock }: CommandContext,
  actor: Actor,
  action: 'backup.create' | 'backup.download',
  subject: string,
): Promise<void> {
  await store.transaction((tx) => audit(tx, actor, clock.now(), { action, subject }))
}
