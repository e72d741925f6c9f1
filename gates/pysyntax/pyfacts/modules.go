package pyfacts

import "strings"

// standardModules names the top-level modules of Python 3.8 to 3.14.
const standardModules = ` __future__ abc aifc annotationlib argparse array ast asynchat asyncio asyncore atexit
audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop
collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv
ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc getopt getpass gettext glob
graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools
json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder
multiprocessing netrc nis nntplib ntpath numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle
pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr
pydoc queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex
shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 ssl stat statistics string stringprep
struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test
textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing
unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile
zipimport zlib zoneinfo `

// wellKnownModules names libraries whose functions do not assert anything on
// behalf of a test, apart from those with assertions that are recognized.
const wellKnownModules = ` pytest numpy np pandas pd scipy requests httpx aiohttp urllib3 yaml toml tomli PIL cv2 torch
torchvision tensorflow jax sklearn matplotlib networkx sympy bs4 lxml jsonschema psutil pexpect docker sqlalchemy
psycopg2 redis flask fastapi django boto3 cryptography Crypto nacl jwt click tqdm rich packaging dateutil pytz attr
attrs pydantic openpyxl pypdf PyPDF2 docx h5py pyarrow polars duckdb Bio rdkit astropy shapely geopandas trimesh
soundfile librosa transformers datasets tokenizers safetensors onnx onnxruntime websockets paramiko regex chardet
simplejson orjson ujson msgpack google grpc hypothesis mock freezegun responses selenium playwright `

// isKnownModule reports whether a top-level module is part of Python or a
// well-known library.
func isKnownModule(name string) bool {
	known := func(list string) bool {
		for rest := list; ; {
			i := strings.Index(rest, name)
			if i < 0 {
				return false
			}
			end := i + len(name)
			if i > 0 && isSpace(rest[i-1]) && end < len(rest) && isSpace(rest[end]) {
				return true
			}
			rest = rest[end:]
		}
	}
	return name != "" && (known(standardModules) || known(wellKnownModules))
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' }
