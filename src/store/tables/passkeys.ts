import { statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { Passkey } from '../store.ts'
import { pruning } from './pruning.ts'

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('passkeys').select(fieldsOf('passkeys')).where('id', '=', p.id),
)

const ofUser = statement((db, p: { userId: number }) =>
  db
    .selectFrom('passkeys')
    .select(fieldsOf('passkeys'))
    .where('user_id', '=', p.userId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const insert = insertion('passkeys', namesOf('passkeys'))

const use = statement((db, p: { id: string; from: number; to: number; atMs: number }) =>
  db
    .updateTable('passkeys')
    .set({ sign_count: p.to, used_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('sign_count', '=', p.from),
)

const remove = statement((db, p: { userId: number; id: string }) =>
  db.deleteFrom('passkeys').where('user_id', '=', p.userId).where('id', '=', p.id),
)

const spend = statement((db, p: { hash: Uint8Array; expiresAtMs: number }) =>
  db
    .insertInto('passkey_challenges')
    .values({ hash: p.hash, expires_at_ms: p.expiresAtMs })
    .onConflict((c) => c.doNothing()),
)

const prune = pruning('passkey_challenges', 'expires_at_ms', ['hash'])

export class PasskeyReadVerbs extends Verbs {
  async get(id: string): Promise<Passkey | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromRow(row)
  }

  async list(userId: number): Promise<Passkey[]> {
    return (await this.executor.all(ofUser, { userId })).map(fromRow)
  }
}

export class PasskeyTxVerbs extends PasskeyReadVerbs {
  async insert(passkey: Passkey): Promise<void> {
    await insert(this.executor, [{ ...passkey, transports: JSON.stringify(passkey.transports) }])
  }

  async countUse(id: string, count: { from: number; to: number }, atMs: number): Promise<boolean> {
    return (await this.executor.run(use, { id, ...count, atMs })) > 0
  }

  async delete(userId: number, id: string): Promise<boolean> {
    return (await this.executor.run(remove, { userId, id })) > 0
  }

  async spend(hash: Uint8Array, expiresAtMs: number): Promise<boolean> {
    return (await this.executor.run(spend, { hash, expiresAtMs })) > 0
  }

  async pruneChallenges(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const fromRow = (row: FieldsOf<'passkeys'>): Passkey => ({
  ...row,
  transports: JSON.parse(row.transports) as string[],
})
