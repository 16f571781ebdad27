/**
 * Leads users of the dashboard there, because it does all of this with their tokens. The page stays for people who have
 * a token and no user.
 */
export async function leadUsers() {
  const response = await fetch('./dashboard/api/session').catch(() => null)
  // Without a dashboard there is nothing at this path.
  document.getElementById('to-dashboard').hidden = response === null || response.status === 404
  if (!response?.ok) return
  const { data } = await response.json()
  const address = addressFor(data, location)
  if (address !== null) location.replace(address)
}

/** Where a user gets what the address of this page asks for; null: here. */
function addressFor({ user, account }, { hash, search }) {
  const watched = new URLSearchParams(hash.slice(1)).get('watch')
  // A viewer, the role, broadcasts with a token that another person gave away.
  if (watched === null) return user.role === 'admin' ? `./dashboard/#/live${search}` : null
  const slash = watched.indexOf('/')
  if (slash < 1) return null
  const [accountId, name] = [watched.slice(0, slash), watched.slice(slash + 1)].map(encodeURIComponent)
  return accountId === account.id ? `./dashboard/#/streams/${name}` : `./watch/${accountId}/${name}`
}
