#include "acl/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>

namespace onnx_ascend {
namespace {

// Only the simulator exports it, which tells it from CANN wherever it was found.
constexpr const char* kSimulatorMark = "onnx_ascend_sim_counters";

// CANN's packages under its installer's folder, newest name first; each has its set_env.sh.
constexpr const char* kPackages[] = {"cann", "ascend-toolkit", "nnae", "nnrt"};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

bool exists(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::string trimmed(const std::string& text) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Where a library came from, which its bare name does not tell.
std::string path_of(void* handle, const std::string& opened_as) {
    const link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0') return opened_as;
    return map->l_name;
}

// Why the last dlopen failed, without the path that the message begins with.
std::string open_error(const std::string& path) {
    const char* text = dlerror();
    if (text == nullptr) return "dlopen failed";
    const std::string reason = text;
    const std::string prefix = path + ": ";
    return reason.compare(0, prefix.size(), prefix) == 0 ? reason.substr(prefix.size()) : reason;
}

std::vector<std::string> cann_folders() {
    std::vector<std::string> folders;
    for (const char* variable : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
        const std::string home = environment(variable);
        if (!home.empty()) folders.push_back(home + "/lib64");
    }
    return folders;
}

// CANN's set_env.sh puts lib64 on LD_LIBRARY_PATH, so the bare name comes first.
std::vector<std::string> bare_then_folders(const char* file) {
    std::vector<std::string> paths = {file};
    for (const std::string& folder : cann_folders()) paths.push_back(folder + "/" + file);
    return paths;
}

std::vector<std::string> split_operator_libraries(const std::string& folder) {
    std::vector<std::string> names;
    if (DIR* directory = opendir(folder.c_str())) {
        while (const dirent* entry = readdir(directory)) {
            const std::string name = entry->d_name;
            if (name.rfind("libopapi_", 0) == 0 && name.size() > 3 && name.substr(name.size() - 3) == ".so")
                names.push_back(folder + "/" + name);
        }
        closedir(directory);
    }
    // The order of a folder differs from machine to machine; a search must not.
    std::sort(names.begin(), names.end());
    return names;
}

// The libraries of `vendors/config.ini`, in the order of its `load_priority=a,b`.
std::vector<std::string> vendor_libraries(const std::string& opp_path) {
    std::vector<std::string> paths;
    std::ifstream file(opp_path + "/vendors/config.ini");
    for (std::string line; std::getline(file, line);) {
        const size_t equals = line.find('=');
        if (equals == std::string::npos || trimmed(line.substr(0, equals)) != "load_priority") continue;
        for (const std::string& vendor : split(line.substr(equals + 1), ','))
            paths.push_back(opp_path + "/vendors/" + trimmed(vendor) + "/op_api/lib/libcust_opapi.so");
    }
    return paths;
}

std::string owner_error(const std::string& path) {
    char resolved[PATH_MAX];
    struct stat info;
    if (realpath(path.c_str(), resolved) == nullptr || stat(resolved, &info) != 0) return "no such file";
    if (info.st_uid == 0 || (info.st_uid == geteuid() && geteuid() != 0)) return {};
    return "its owner is neither root nor the current user";
}

}  // namespace

std::string own_folder() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
    char resolved[PATH_MAX];
    const std::string path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string set_env_script() {
    for (const std::string& home : {environment("HOME"), std::string("/usr/local")})
        for (const char* package : kPackages) {
            const std::string script = home + "/Ascend/" + package + "/set_env.sh";
            if (!home.empty() && exists(script)) return script;
        }
    return {};
}

Libraries::Libraries() : requested_(environment("ONNX_ASCEND_BACKEND")) {
    if (requested_.empty()) requested_ = "auto";
    bool found = false;
    if (requested_ == "auto") {
        found = find_cann() || find_simulator();
    } else if (requested_ == "cann") {
        found = find_cann();
    } else if (requested_ == "simulator") {
        found = find_simulator();
    } else {
        error_ = "ONNX_ASCEND_BACKEND is '" + requested_ + "'; it must be 'auto', 'cann' or 'simulator'";
        return;
    }
    if (found) return;
    const std::string wanted = requested_ == "auto"   ? "neither CANN nor the simulator"
                               : requested_ == "cann" ? "CANN"
                                                      : "the simulator";
    error_ = wanted + (requested_ == "auto" ? " was found" : " was not found") + ": " + searched_text();
}

std::string Libraries::searched_text() const {
    std::string text;
    for (const SearchedLibrary& place : searched_) {
        if (place.found) continue;
        if (!text.empty()) text += "; ";
        text += place.path + " (" + place.error + ")";
    }
    const std::string script = set_env_script();
    if (requested_ != "simulator" && !script.empty())
        text += "; CANN is installed: run `source " + script + "` before the process starts";
    return text;
}

Libraries::Opened Libraries::open(const char* library, const std::string& path) {
    SearchedLibrary place{library, path, false, ""};
    Opened opened;
    if (path.find('/') != std::string::npos && !exists(path)) {
        place.error = "no such file";
    } else {
        opened.handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (opened.handle != nullptr) {
            opened.path = path_of(opened.handle, path);
            place.path = opened.path;
            place.found = true;
        } else {
            place.error = open_error(path);
        }
    }
    searched_.push_back(std::move(place));
    return opened;
}

Libraries::Opened Libraries::open_first(const char* library, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        Opened opened = open(library, path);
        if (opened.handle != nullptr) return opened;
    }
    return {};
}

bool Libraries::open_base(const std::vector<std::string>& runtime, const std::vector<std::string>& base) {
    ascendcl_ = open_first("ascendcl", runtime);
    if (ascendcl_.handle == nullptr) return false;
    nnopbase_ = open_first("nnopbase", base);
    return nnopbase_.handle != nullptr;
}

bool Libraries::find_cann() {
    std::vector<std::string> runtime = bare_then_folders("libascendcl.so");
    for (const std::string& path : bare_then_folders("libacl_rt.so")) runtime.push_back(path);
    if (!open_base(runtime, bare_then_folders("libnnopbase.so"))) return false;
    backend_ = "cann";
    if (ascendcl_symbol(kSimulatorMark) != nullptr) {
        if (requested_ == "cann") {
            SearchedLibrary& place = *std::find_if(searched_.begin(), searched_.end(),
                                                   [](const SearchedLibrary& each) { return each.found; });
            place.found = false;
            place.error = "this is the simulator, not CANN";
            backend_.clear();
            return false;
        }
        backend_ = "simulator";
    }
    add_custom_candidates();
    const std::string folder = ascendcl_.path.substr(0, ascendcl_.path.rfind('/'));
    std::vector<std::string> folders = cann_folders();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    for (const std::string& each : folders)
        for (const std::string& path : split_operator_libraries(each))
            operators_.push_back({path, false, false, {}});
    for (const char* file :
         {"libopapi.so", "libaclnn_ops_train.so", "libaclnn_ops_infer.so", "libaclnn_math.so"})
        for (const std::string& path : bare_then_folders(file))
            operators_.push_back({path, false, false, {}});
    return true;
}

bool Libraries::find_simulator() {
    const std::string folder = own_folder() + "/simulator/";
    if (!open_base({folder + "libascendcl.so"}, {folder + "libnnopbase.so"})) return false;
    backend_ = "simulator";
    add_custom_candidates();
    operators_.push_back({folder + "libopapi.so", false, false, {}});
    return true;
}

void Libraries::add_custom_candidates() {
    for (const std::string& folder : split(environment("ASCEND_CUSTOM_OPP_PATH"), ':'))
        operators_.push_back({folder + "/op_api/lib/libcust_opapi.so", true, false, {}});
    const std::string opp_path = environment("ASCEND_OPP_PATH");
    if (opp_path.empty()) return;
    for (const std::string& path : vendor_libraries(opp_path)) operators_.push_back({path, true, false, {}});
}

void* Libraries::open_candidate(Candidate& candidate) {
    if (candidate.tried) return candidate.opened.handle;
    candidate.tried = true;
    const std::string refused = candidate.owner_matters ? owner_error(candidate.path) : std::string();
    if (refused.empty())
        candidate.opened = open("opapi", candidate.path);
    else
        searched_.push_back({"opapi", candidate.path, false, refused});
    return candidate.opened.handle;
}

std::vector<SearchedLibrary> Libraries::searched() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return searched_;
}

std::string Libraries::opapi_path() const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Candidate& candidate : operators_)
        if (candidate.opened.handle != nullptr) return candidate.opened.path;
    return {};
}

void* Libraries::ascendcl_symbol(const char* name) const {
    return dlsym(ascendcl_.handle, name);
}

void* Libraries::nnopbase_symbol(const char* name) const {
    return dlsym(nnopbase_.handle, name);
}

Libraries::KernelSymbols Libraries::kernel_symbols(const std::string& name) {
    const std::string first_phase = name + "GetWorkspaceSize";
    std::lock_guard<std::mutex> lock(mutex_);
    for (Candidate& candidate : operators_) {
        void* handle = open_candidate(candidate);
        if (handle == nullptr) continue;
        KernelSymbols symbols{dlsym(handle, first_phase.c_str()), dlsym(handle, name.c_str())};
        if (symbols.get_workspace_size != nullptr && symbols.run != nullptr) return symbols;
    }
    return {};
}

}  // namespace onnx_ascend
