@rem The scripts of package.json begin with `exec`, so that no shell stands between npm and the server. cmd.exe has no such
@rem command and finds this one.
@%*
