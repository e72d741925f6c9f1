package pyfacts

import (
	"strings"

	"github.com/posttrainarena/arena/gates/pysyntax"
)

// pathFunction says which argument of a function is a path and what happens to
// it. An argument name of "" means that it can only be positional.
type pathFunction struct {
	arg    int
	name   string
	access Access
}

// pathFunctionFor returns what a function with a dotted name does with paths.
func pathFunctionFor(name string) (uses []pathFunction) {
	switch name {
	case "open", "io.open", "codecs.open", "os.open":
		return []pathFunction{{0, "file", Read}}
	case "gzip.open", "bz2.open", "lzma.open", "gzip.GzipFile", "bz2.BZ2File", "lzma.LZMAFile", "wave.open":
		return []pathFunction{{0, "filename", Read}}
	case "tarfile.open", "tarfile.is_tarfile", "zipfile.is_zipfile", "zipfile.Path", "shelve.open", "dbm.open":
		return []pathFunction{{0, "name", Read}}
	case "zipfile.ZipFile", "zipfile.PyZipFile":
		return []pathFunction{{0, "file", Read}}
	case "sqlite3.connect", "duckdb.connect", "h5py.File", "netCDF4.Dataset":
		return []pathFunction{{0, "database", Read}}
	case "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.islink", "os.path.lexists", "os.path.ismount", "os.access":
		return []pathFunction{{0, "path", Check}}
	case "os.path.getsize", "os.path.getmtime", "os.path.getctime", "os.path.getatime", "os.stat", "os.lstat":
		return []pathFunction{{0, "path", Stat}}
	case "os.readlink":
		return []pathFunction{{0, "path", Read}}
	case "os.listdir", "os.scandir", "os.walk", "os.fwalk":
		return []pathFunction{{0, "path", List}}
	case "glob.glob", "glob.iglob":
		return []pathFunction{{0, "pathname", List}}
	case "os.remove", "os.unlink", "os.rmdir", "os.mkdir", "os.makedirs", "os.chmod", "os.chown", "os.truncate",
		"os.utime", "os.removedirs", "shutil.rmtree":
		return []pathFunction{{0, "path", Write}}
	case "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree":
		return []pathFunction{{0, "src", Read}, {1, "dst", Write}}
	case "shutil.move", "os.rename", "os.replace", "os.link", "os.symlink":
		return []pathFunction{{0, "src", Write}, {1, "dst", Write}}
	case "shutil.unpack_archive":
		return []pathFunction{{0, "filename", Read}}
	case "filecmp.cmp":
		return []pathFunction{{0, "f1", Read}, {1, "f2", Read}}
	case "filecmp.dircmp":
		return []pathFunction{{0, "a", Read}, {1, "b", Read}}
	case "runpy.run_path", "importlib.machinery.SourceFileLoader":
		return []pathFunction{{0, "path_name", Execute}}
	case "importlib.util.spec_from_file_location":
		return []pathFunction{{1, "location", Execute}}
	case "sys.path.append":
		return []pathFunction{{0, "", Execute}}
	case "sys.path.insert":
		return []pathFunction{{1, "", Execute}}
	case "fileinput.input", "linecache.getlines", "linecache.getline":
		return []pathFunction{{0, "files", Read}}
	}
	return libraryReaders(name)
}

// libraryReaders covers the readers and writers of well-known libraries.
func libraryReaders(name string) []pathFunction {
	module, fn, _ := cutLast(name)
	switch module {
	case "numpy":
		switch fn {
		case "load", "loadtxt", "genfromtxt", "fromfile", "memmap":
			return []pathFunction{{0, "file", Read}}
		case "save", "savetxt", "savez":
			return []pathFunction{{0, "file", Write}}
		}
	case "pandas", "polars", "geopandas":
		if strings.HasPrefix(fn, "read_") || strings.HasPrefix(fn, "scan_") {
			return []pathFunction{{0, "filepath_or_buffer", Read}}
		}
	case "PIL.Image", "PIL.ImageFont":
		if fn == "open" || fn == "truetype" {
			return []pathFunction{{0, "fp", Read}}
		}
	case "torch", "joblib", "onnx", "trimesh", "librosa", "soundfile", "toml", "openpyxl", "cv2", "imageio", "imageio.v2", "imageio.v3",
		"pypdf", "PyPDF2", "docx", "pyarrow.parquet", "lxml.etree", "xml.etree.ElementTree", "astropy.io.fits", "scipy.io", "scipy.io.wavfile":
		switch fn {
		case "load", "load_workbook", "imread", "read", "parse", "read_table", "PdfReader", "PdfFileReader", "Document", "open", "getdata", "loadmat", "info":
			return []pathFunction{{0, "filename", Read}}
		case "save", "dump", "imwrite", "write":
			return []pathFunction{{0, "filename", Write}}
		}
	}
	return nil
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// pathMethod returns what a method does with the path it is called on. Only
// names that hardly any other class has are listed.
func pathMethod(name string) (Access, bool) {
	switch name {
	case "read_text", "read_bytes", "readlink":
		return Read, true
	case "write_text", "write_bytes", "unlink", "mkdir", "rmdir", "touch", "symlink_to", "hardlink_to", "chmod":
		return Write, true
	case "exists", "is_file", "is_dir", "is_symlink", "is_mount":
		return Check, true
	case "stat", "lstat":
		return Stat, true
	case "iterdir", "glob", "rglob":
		return List, true
	}
	return 0, false
}

// pathCall records what a call does with paths.
func (c *collector) pathCall(n *pysyntax.Call, name string, s *scope) {
	uses := pathFunctionFor(name)
	for _, use := range uses {
		arg := argument(n, use.arg, use.name)
		if arg == nil || len(uses) == 1 && c.isOpenFile(arg, s) {
			continue
		}
		access := use.access
		if access == Read && strings.HasSuffix(strings.ToLower(name), "open") {
			access = openAccess(argument(n, 1, "mode"))
		}
		vs := c.eval(arg, s, 0)
		if name == "glob.glob" || name == "glob.iglob" {
			vs = globbed(vs)
		}
		c.usePath(n, s, access, name, vs)
	}
	if uses != nil {
		return
	}
	method, ok := n.Func.(*pysyntax.Attribute)
	if !ok {
		return
	}
	if method.Attr == "open" && c.isPath(method.Value, s) {
		c.usePath(n, s, openAccess(argument(n, 0, "mode")), "open", c.eval(method.Value, s, 0))
		return
	}
	if access, ok := pathMethod(method.Attr); ok {
		// "Path.read_text(p)" names the class.
		object := method.Value
		if isPathClass(c.dotted(object, s)) {
			if object = argument(n, 0, ""); object == nil {
				return
			}
		}
		c.usePath(n, s, access, method.Attr, c.eval(object, s, 0))
	}
}

// usePath records an access to each of several possible paths.
func (c *collector) usePath(n pysyntax.Node, s *scope, access Access, via string, vs []value) {
	for _, v := range distinct(vs) {
		c.facts.Paths = append(c.facts.Paths, PathUse{
			Place: c.place(n, s), Access: access, Path: clean(v.text), Exact: !hasUnknown(v.text), Env: v.env, Via: via,
		})
	}
}

// openAccess tells reading from writing by the mode of open.
func openAccess(mode pysyntax.Expr) Access {
	if k, ok := mode.(*pysyntax.Constant); ok && strings.ContainsAny(k.Value, "wax") {
		return Write
	}
	return Read
}

// isOpenFile reports whether an argument is a file that has been opened, or
// something else whose path is recorded where it comes from.
func (c *collector) isOpenFile(e pysyntax.Expr, s *scope) bool {
	call, ok := e.(*pysyntax.Call)
	if !ok {
		return false
	}
	name := c.dotted(call.Func, s)
	if name == "io.StringIO" || name == "io.BytesIO" || strings.HasSuffix(name, "open") {
		return true
	}
	a, ok := call.Func.(*pysyntax.Attribute)
	return ok && (a.Attr == "open" || a.Attr == "read_text" || a.Attr == "read_bytes")
}

// isPath reports whether an expression is surely a path.
func (c *collector) isPath(e pysyntax.Expr, s *scope) bool {
	for _, v := range c.eval(e, s, 0) {
		if v.path {
			return true
		}
	}
	return false
}
