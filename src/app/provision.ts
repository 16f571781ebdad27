import { err, type Result } from '../base/result.ts'
import type { ProvisionFlags } from '../cli/host.ts'
import { pickAccount } from '../commands/accounts/accounts.ts'
import type { Context } from '../commands/context.ts'
import { provision } from '../commands/provisioning/provision.ts'
import type { ProvisionChange, ProvisionProblem } from '../core/provisioning/types.ts'
import { readProvisionFolder } from './provisionFiles.ts'

/** Applies the files of a folder, all of them or none. */
export async function provisionFrom(
  ctx: Context,
  folder: string,
  { account, ...flags }: ProvisionFlags,
): Promise<Result<ProvisionChange[], ProvisionProblem[]>> {
  const files = readProvisionFolder(folder, process.env)
  if (!files.ok) return files
  const found = await pickAccount(ctx, files.value.account ?? account)
  if (!found.ok) {
    const how = 'name the account of these files in one of them: `account: ID`'
    return err([{ location: folder, message: `${Object.values(found.error.data).join('; ')} (${how})` }])
  }
  return provision(ctx, { accountId: found.value.id, items: files.value.items, ...flags })
}
